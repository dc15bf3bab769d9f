//! Runs suites one after the other and says how each went.

use crate::{
    allowed_skips::AllowedSkips,
    context::Context,
    log::Log,
    suites::{self, Suite},
    tools::Unavailable,
};
use anyhow::bail;
use std::{fmt, process::ExitCode, time::Instant};

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

    let mut results = Vec::new();
    for suite in suites::ALL.iter().filter(wanted) {
        println!("== {}: {}", suite.name, suite.about);
        let started = Instant::now();
        let outcome = run_one(context, &allowed, suite)?;
        let seconds = started.elapsed().as_secs_f64();
        println!("   {outcome} ({seconds:.1} s)");
        results.push((suite.name, outcome, seconds));
    }

    println!("\n{:<18} {:>8}  result", "suite", "seconds");
    for (name, outcome, seconds) in &results {
        println!("{name:<18} {seconds:>8.1}  {outcome}");
    }
    let count =
        |is: fn(&Outcome) -> bool| results.iter().filter(|(_, outcome, _)| is(outcome)).count();
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
