//! Runs suites, the long ones beside the others, and says how each went.

use crate::{
    allowed_skips::AllowedSkips,
    context::Context,
    log::Log,
    suites::{self, Suite},
    tools::Unavailable,
};
use anyhow::{anyhow, bail};
use std::{fmt, process::ExitCode, thread, time::Instant};

const TAIL: usize = 80;

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Failed(reason) => write!(f, "failed: {reason}"),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

/// Runs the named suites, all of them when none is named; a failing one does not stop the next.
pub(crate) fn run(context: &Context, names: &[String]) -> anyhow::Result<ExitCode> {
    let known: Vec<_> = suites::ALL.iter().map(|suite| suite.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!(
            "there is no suite `{name}`; there are: {}",
            known.join(", ")
        );
    }
    let allowed = AllowedSkips::load(&context.root, &known)?;
    let wanted = |suite: &&Suite| names.is_empty() || names.iter().any(|name| name == suite.name);

    let in_lane = |beside: bool| {
        let suites = suites::ALL.iter().filter(wanted);
        suites.filter(move |suite| suites::BESIDE.contains(&suite.name) == beside)
    };
    let lane = |suites: &mut dyn Iterator<Item = &'static Suite>| {
        suites
            .map(|suite| run_timed(context, &allowed, suite))
            .collect::<anyhow::Result<Vec<_>>>()
    };
    let (results, beside) = thread::scope(|scope| {
        let beside = scope.spawn(|| lane(&mut in_lane(true)));
        (lane(&mut in_lane(false)), beside.join())
    });
    let beside = beside.map_err(|_| anyhow!("the suites beside the others broke off"))?;
    let mut results = results?;
    results.extend(beside?);
    let place = |timed: &Timed| known.iter().position(|name| *name == timed.name);
    results.sort_by_key(place);

    println!("\n{:<18} {:>8}  result", "suite", "seconds");
    for Timed {
        name,
        outcome,
        seconds,
    } in &results
    {
        println!("{name:<18} {seconds:>8.1}  {outcome}");
    }
    let count =
        |is: fn(&Outcome) -> bool| results.iter().filter(|timed| is(&timed.outcome)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    println!(
        "\n{}",
        closing_line(
            count(|outcome| matches!(outcome, Outcome::Passed)),
            failed,
            skipped
        )
    );
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// How a suite went.
struct Timed {
    name: &'static str,
    outcome: Outcome,
    seconds: f64,
}

fn run_timed(
    context: &Context,
    allowed: &AllowedSkips,
    suite: &'static Suite,
) -> anyhow::Result<Timed> {
    let name = suite.name;
    println!("== {name}: {}", suite.about);
    let started = Instant::now();
    let outcome = run_one(context, allowed, suite)?;
    let seconds = started.elapsed().as_secs_f64();
    println!("   {name}: {outcome} ({seconds:.1} s)");
    Ok(Timed {
        name,
        outcome,
        seconds,
    })
}

fn run_one(context: &Context, allowed: &AllowedSkips, suite: &Suite) -> anyhow::Result<Outcome> {
    let mut log = Log::create(&context.scratch(), suite.name)?;
    let Err(error) = (suite.run)(context, &mut log) else {
        return Ok(Outcome::Passed);
    };
    if let Some(Unavailable(reason)) = error.downcast_ref() {
        return Ok(if context.ci && !allowed.allows(suite.name) {
            Outcome::Failed(format!(
                "skipped, which .ci/allowed-skips does not allow: {reason}"
            ))
        } else {
            Outcome::Skipped(reason.clone())
        });
    }
    log.write(&format!("error: {error:#}"))?;
    println!("--- the last {TAIL} lines of {}", log.path().display());
    println!("{}\n---", log.tail(TAIL)?);
    Ok(Outcome::Failed(error.to_string()))
}

fn closing_line(passed: usize, failed: usize, skipped: usize) -> String {
    let mut line = format!("{passed} passed, {failed} failed");
    if skipped > 0 {
        line.push_str(&format!(", {skipped} skipped"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::closing_line;

    #[test]
    fn the_closing_line_names_skips_only_when_there_are_any() {
        assert_eq!(closing_line(12, 0, 0), "12 passed, 0 failed");
        assert_eq!(closing_line(3, 1, 2), "3 passed, 1 failed, 2 skipped");
    }
}
