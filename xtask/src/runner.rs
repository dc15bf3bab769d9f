//! Runs suites side by side, two more than there are processors, and says how each went. Until the workspace is built
//! there is one more: what they need is downloaded meanwhile.

use crate::{
    allowed_skips::AllowedSkips,
    context::Context,
    log::Log,
    process::Spent,
    suites::{self, Suite},
    tools::Unavailable,
};
use anyhow::{anyhow, bail};
use std::{
    fmt,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

const TAIL: usize = 80;

/// How many suites there are beside one for each processor: some always wait, for a browser, for a server, for what
/// another builds.
const WAITING: usize = 2;

/// How many suites more begin while the workspace is built. With it those that download most have begun.
const WHILE_BUILDING: usize = 1;

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
pub(crate) fn run(mut context: Context, names: &[String]) -> anyhow::Result<ExitCode> {
    let known: Vec<_> = suites::ALL.iter().map(|suite| suite.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!(
            "there is no suite `{name}`; there are: {}",
            known.join(", ")
        );
    }
    context.in_suites = true;
    let context = &context;
    let allowed = AllowedSkips::load(&context.root, &known)?;
    let wanted = |suite: &&Suite| names.is_empty() || names.iter().any(|name| name == suite.name);

    let started = Instant::now();
    let next = Mutex::new(suites::ALL.iter().filter(wanted));
    let lane = &|is_lasting: bool| {
        let mut results = Vec::new();
        loop {
            if !is_lasting && context.made.workspace.is_made() {
                return anyhow::Ok(results);
            }
            let suite = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(suite) = suite else {
                return Ok(results);
            };
            results.push(run_timed(context, &allowed, suite)?);
        }
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut results = thread::scope(|scope| {
        let lasting = processors + WAITING;
        let lanes: Vec<_> = (0..lasting + WHILE_BUILDING)
            .map(|number| scope.spawn(move || lane(number < lasting)))
            .collect();
        let mut results = Vec::new();
        for lane in lanes {
            let ended = lane.join().map_err(|_| anyhow!("a lane broke off"))?;
            results.extend(ended?);
        }
        anyhow::Ok(results)
    })?;
    results.sort_by_key(|timed| known.iter().position(|name| *name == timed.name));
    print!("{}", table(&results, started.elapsed(), processors));

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

/// How a suite went, and what it took.
struct Timed {
    name: &'static str,
    outcome: Outcome,
    wall: Duration,
    building: Spent,
    testing: Spent,
}

impl Timed {
    /// The time in which no command of the suite ran: others built what it needs.
    fn waiting(&self) -> Duration {
        self.wall
            .saturating_sub(self.building.wall)
            .saturating_sub(self.testing.wall)
    }
}

/// The suites with their seconds by the clock and of the processors, and where the time went in all.
fn table(results: &[Timed], wall: Duration, processors: usize) -> String {
    let mut table = format!(
        "\n{:<18} {:>8} {:>8} {:>8} {:>8} {:>10}  result\n",
        "suite", "seconds", "build", "test", "wait", "processor"
    );
    let mut building = Spent::default();
    let mut testing = Spent::default();
    let mut waiting = Duration::ZERO;
    for timed in results {
        building += timed.building;
        testing += timed.testing;
        waiting += timed.waiting();
        table.push_str(&format!(
            "{:<18} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>10.1}  {}\n",
            timed.name,
            timed.wall.as_secs_f64(),
            timed.building.wall.as_secs_f64(),
            timed.testing.wall.as_secs_f64(),
            timed.waiting().as_secs_f64(),
            (timed.building.processor + timed.testing.processor).as_secs_f64(),
            timed.outcome
        ));
    }
    let computed = (building.processor + testing.processor).as_secs_f64();
    let could = wall.as_secs_f64() * processors as f64;
    table.push_str(&format!(
        "\n{:.1} s on {processors} processors: {:.1} s of processor time to build, {:.1} s to test; the processors were busy \
         with it for {:.0} of 100; suites waited for each other's builds for {:.1} s\n",
        wall.as_secs_f64(),
        building.processor.as_secs_f64(),
        testing.processor.as_secs_f64(),
        100.0 * computed / could.max(f64::MIN_POSITIVE),
        waiting.as_secs_f64(),
    ));
    table
}

fn run_timed(
    context: &Context,
    allowed: &AllowedSkips,
    suite: &'static Suite,
) -> anyhow::Result<Timed> {
    let name = suite.name;
    println!("== {name}: {}", suite.about);
    let started = Instant::now();
    let mut log = Log::create(&context.scratch(), name)?;
    let outcome = run_one(context, allowed, suite, &mut log)?;
    let wall = started.elapsed();
    println!("   {name}: {outcome} ({:.1} s)", wall.as_secs_f64());
    Ok(Timed {
        name,
        outcome,
        wall,
        building: log.building(),
        testing: log.testing(),
    })
}

fn run_one(
    context: &Context,
    allowed: &AllowedSkips,
    suite: &Suite,
    log: &mut Log,
) -> anyhow::Result<Outcome> {
    let Err(error) = (suite.run)(context, log) else {
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
    Ok(Outcome::Failed(format!("{error:#}")))
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
    use super::{Outcome, Timed, closing_line, table};
    use crate::process::Spent;
    use std::time::Duration;

    #[test]
    fn the_closing_line_names_skips_only_when_there_are_any() {
        assert_eq!(closing_line(12, 0, 0), "12 passed, 0 failed");
        assert_eq!(closing_line(3, 1, 2), "3 passed, 1 failed, 2 skipped");
    }

    #[test]
    fn the_table_tells_where_the_time_went() {
        let spent = |wall, processor| Spent {
            wall: Duration::from_secs(wall),
            processor: Duration::from_secs(processor),
        };
        let timed = Timed {
            name: "rust",
            outcome: Outcome::Passed,
            wall: Duration::from_secs(100),
            building: spent(40, 70),
            testing: spent(50, 20),
        };
        let table = table(&[timed], Duration::from_secs(100), 2);
        let words: Vec<_> = table.lines().nth(2).unwrap().split_whitespace().collect();
        let expected = ["rust", "100.0", "40.0", "50.0", "10.0", "90.0", "passed"];
        assert_eq!(words, expected);
        assert!(table.contains("busy with it for 45 of 100"), "{table}");
    }
}
