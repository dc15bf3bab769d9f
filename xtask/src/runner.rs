//! Runs suites side by side, some more than there are processors, and reports the result of each.

use crate::{
    context::Context,
    log::{self, Log},
    process,
    suites::{self, Suite},
    tools::Unavailable,
};
use anyhow::{Context as _, anyhow, bail, ensure};
use std::{
    collections::BTreeMap,
    env, fs,
    process::ExitCode,
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

const TAIL: usize = 80;

/// The number of suites beyond one for each processor: some always wait, for a browser, for a server, for another
/// suite's build.
const WAITING: usize = 2;

/// The time after which a run in CI is given up: CI would end it a little later, and nobody would know which suite hangs.
const RUN_LIMIT: Duration = Duration::from_secs(80 * 60);

/// From this time on the suites under way are named now and then.
const LONG: Duration = Duration::from_secs(30 * 60);
const NAMED_EVERY: Duration = Duration::from_secs(10 * 60);

/// The suites under way, and when each began.
type UnderWay = Mutex<BTreeMap<&'static str, Instant>>;

/// The result of a suite, and its time.
struct Timed {
    name: &'static str,
    result: &'static str,
    /// Why it did not pass.
    reason: String,
    wall: Duration,
    processor: Duration,
}

const PASSED: &str = "passed";
const FAILED: &str = "failed";
const SKIPPED: &str = "skipped";

/// Runs the named suites, all of them when none is named; a failing one does not stop the next.
pub(crate) fn run(mut context: Context, names: &[String]) -> anyhow::Result<ExitCode> {
    let known: Vec<_> = suites::ALL.iter().map(|suite| suite.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let known = known.join(", ");
        bail!("there is no suite `{name}`; there are: {known}");
    }
    context.in_suites = true;
    let context = &context;
    let skips = fs::read_to_string(context.root.join(".ci/allowed-skips"))?;
    let skips = &allowed_skips(&skips, &known).context("in .ci/allowed-skips")?;
    let wanted = |suite: &&Suite| names.is_empty() || names.iter().any(|name| name == suite.name);

    let started = Instant::now();
    let next = Mutex::new(suites::ALL.iter().filter(wanted));
    let under_way = &UnderWay::default();
    let lane = || {
        let mut results = Vec::new();
        loop {
            let suite = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(suite) = suite else {
                return anyhow::Ok(results);
            };
            lock(under_way).insert(suite.name, Instant::now());
            results.push(run_timed(context, skips, suite)?);
            lock(under_way).remove(suite.name);
        }
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let (over, is_over) = mpsc::channel();
    let mut results = thread::scope(|scope| {
        scope.spawn(move || watch(context, under_way, started, &is_over));
        // Ends the watch, however the lanes end.
        let _over = over;
        let lanes = (0..processors + WAITING).map(|_| scope.spawn(lane));
        let mut results = Vec::new();
        for lane in lanes.collect::<Vec<_>>() {
            results.extend(lane.join().map_err(|_| anyhow!("a lane broke off"))??);
        }
        anyhow::Ok(results)
    })?;
    results.sort_by_key(|timed| known.iter().position(|name| *name == timed.name));
    print!("{}", table(&results));
    let seconds = started.elapsed().as_secs_f64();
    println!("{seconds:.1} s on {processors} processors\n");

    let count = |result| results.iter().filter(|it| it.result == result).count();
    let failed = count(FAILED);
    println!("{}", closing_line(count(PASSED), failed, count(SKIPPED)));
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Names the suites of a long run that are under way, and gives up a run of CI that hangs, until the run is over.
fn watch(context: &Context, under_way: &UnderWay, started: Instant, is_over: &mpsc::Receiver<()>) {
    let mut next = LONG;
    while let Err(mpsc::RecvTimeoutError::Timeout) =
        is_over.recv_timeout(next.saturating_sub(started.elapsed()))
    {
        let under_way = lock(under_way).clone();
        let names = under_way.iter().map(|(name, began)| {
            let seconds = began.elapsed().as_secs_f64();
            format!("{name} ({seconds:.0} s)")
        });
        println!("   under way: {}", names.collect::<Vec<_>>().join(", "));
        if is_ci() && started.elapsed() >= RUN_LIMIT {
            for name in under_way.keys() {
                println!("--- the last {TAIL} lines of {name}'s log");
                let tail = log::tail_of(&context.scratch(), name, TAIL);
                println!("{}\n---", tail.unwrap_or_else(|error| error.to_string()));
            }
            let minutes = RUN_LIMIT.as_secs() / 60;
            println!("the run is given up after {minutes} minutes");
            process::end_all(1);
        }
        next += NAMED_EVERY;
    }
}

fn lock(under_way: &UnderWay) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, Instant>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_ci() -> bool {
    env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// The suites that CI may skip, each with the reason.
fn allowed_skips<'a>(text: &'a str, known: &[&str]) -> anyhow::Result<Vec<&'a str>> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let names = lines.map(|line| {
        let (name, reason) = line.split_once(':').unwrap_or((line, ""));
        ensure!(known.contains(&name), "there is no suite `{name}`");
        ensure!(!reason.trim().is_empty(), "`{name}` has no reason");
        Ok(name)
    });
    names.collect()
}

/// The suites with their seconds by the clock and of the processors.
fn table(results: &[Timed]) -> String {
    let line = |name: &str, wall: &str, processor: &str, result: &str| {
        format!("{name:<18} {wall:>8} {processor:>10}  {result}\n")
    };
    let mut table = format!("\n{}", line("suite", "seconds", "processor", "result"));
    let mut all = Duration::ZERO;
    let seconds = |time: Duration| format!("{:.1}", time.as_secs_f64());
    for timed in results {
        let (wall, processor) = (seconds(timed.wall), seconds(timed.processor));
        all += timed.processor;
        table += &line(
            timed.name,
            &wall,
            &processor,
            &format!("{}{}", timed.result, timed.reason),
        );
    }
    table + &line("all", "", &seconds(all), "")
}

fn run_timed(context: &Context, skips: &[&str], suite: &'static Suite) -> anyhow::Result<Timed> {
    let name = suite.name;
    println!("== {name}: {}", suite.about);
    let started = Instant::now();
    let mut log = Log::create(&context.scratch(), name)?;
    let (result, reason) = run_one(context, skips, suite, &mut log)?;
    let wall = started.elapsed();
    println!("   {name}: {result}{reason} ({:.1} s)", wall.as_secs_f64());
    Ok(Timed {
        name,
        result,
        reason,
        wall,
        processor: log.computed(),
    })
}

fn run_one(
    context: &Context,
    skips: &[&str],
    suite: &Suite,
    log: &mut Log,
) -> anyhow::Result<(&'static str, String)> {
    let Err(error) = (suite.run)(context, log) else {
        return Ok((PASSED, String::new()));
    };
    if let Some(Unavailable(reason)) = error.downcast_ref() {
        return Ok(if is_ci() && !skips.contains(&suite.name) {
            (
                FAILED,
                format!(": .ci/allowed-skips lists no skip: {reason}"),
            )
        } else {
            (SKIPPED, format!(": {reason}"))
        });
    }
    log.write(&format!("error: {error:#}"))?;
    println!("--- the last {TAIL} lines of {}", log.path().display());
    println!("{}\n---", log.tail(TAIL)?);
    Ok((FAILED, format!(": {error:#}")))
}

fn closing_line(passed: usize, failed: usize, skipped: usize) -> String {
    let line = format!("{passed} passed, {failed} failed");
    match skipped {
        0 => line,
        _ => format!("{line}, {skipped} skipped"),
    }
}

#[cfg(test)]
mod tests {
    use super::{PASSED, Timed, allowed_skips, closing_line, table};
    use std::time::Duration;

    #[test]
    fn the_closing_line_names_skips_only_when_there_are_any() {
        assert_eq!(closing_line(12, 0, 0), "12 passed, 0 failed");
        assert_eq!(closing_line(3, 1, 2), "3 passed, 1 failed, 2 skipped");
    }

    #[test]
    fn the_table_tells_where_the_time_went() {
        let timed = |name, processor| Timed {
            name,
            result: PASSED,
            reason: String::new(),
            wall: Duration::from_secs(100),
            processor: Duration::from_secs(processor),
        };
        let table = table(&[timed("rust", 90), timed("web", 20)]);
        let rows = table.lines().skip(2).flat_map(str::split_whitespace);
        let expected = "rust 100.0 90.0 passed web 100.0 20.0 passed all 110.0";
        assert_eq!(rows.collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn a_listed_suite_may_be_skipped_if_it_is_there_and_has_a_reason() {
        let known = ["rust", "swift-package"];
        let skips = allowed_skips("# why\n\nswift-package: no swiftc\n", &known);
        assert_eq!(skips.unwrap(), ["swift-package"]);
        for text in ["swift-package", "swift-package:", "swfit: no swiftc"] {
            assert!(allowed_skips(text, &known).is_err(), "{text}");
        }
    }
}
