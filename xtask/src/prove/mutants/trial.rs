//! Whether a test fails when a mutant is on.

use crate::{faults::weave::VARIABLE, process};
use anyhow::{Context as _, bail};
use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    Caught,
    /// The tests needed many times the processor time that they need without it.
    NoEnd,
    /// Nothing went on any more, or the machine was too busy to tell.
    TooLate,
    Lived,
}

/// A test that takes longer waits until the quick ones have passed.
const QUICK: Duration = Duration::from_millis(40);

/// So many times the processor time of all tests is no longer only slow.
const PATIENCE: u64 = 6;

/// With so many seconds beside it.
const LEAST_SECONDS: u64 = 5;

/// By the clock, the tests may take so long however busy the machine is.
const WALL: Duration = Duration::from_secs(900);

/// The bytes that the tests may need, in KiB: a loop that gathers without an end shall not take the machine with it.
const MEMORY_KIB: u64 = 3 << 20;

/// How the property tests are run.
pub(super) const PROPERTIES: &[(&str, &str)] = &[
    // Each mutant gets all tests, so a few cases of each property do.
    ("PROPTEST_CASES", "8"),
    // The same cases for all.
    ("PROPTEST_RNG_SEED", "1"),
    // That a case fails is enough: the smallest one is not looked for, and the next mutant does not meet it.
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
    ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1"),
];

/// A program of tests, and how it is run.
pub(super) struct Suite {
    program: PathBuf,
    folder: PathBuf,
    quick: Part,
    slow: Part,
}

/// Tests that run in one process.
#[derive(Default)]
struct Part {
    names: Vec<String>,
    /// What they take without a mutant.
    time: Duration,
}

impl Part {
    /// The seconds of processor time that they may take with one.
    fn seconds(&self) -> u64 {
        LEAST_SECONDS + PATIENCE * self.time.as_secs()
    }
}

impl Suite {
    /// Runs without a mutant the tests whose names hold `of`, and notes which are slow; one that fails is an error.
    pub(super) fn measured(
        program: &Path,
        folder: &Path,
        of: &str,
        skipped: &[&str],
    ) -> anyhow::Result<Self> {
        let mut suite = Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            quick: Part::default(),
            slow: Part::default(),
        };
        let mut arguments = vec![of];
        arguments.retain(|filter| !filter.is_empty());
        arguments.extend(skipped.iter().flat_map(|name| ["--skip", name]));
        let (mut quick, mut slow) = (Part::default(), Part::default());
        let mut last = Instant::now();
        let ended = suite.run(None, WALL.as_secs(), &arguments, |name| {
            let now = Instant::now();
            let time = now - last;
            let part = if time > QUICK { &mut slow } else { &mut quick };
            part.names.push(name.to_owned());
            part.time += time;
            last = now;
        })?;
        if ended != Ended::Passed {
            bail!(
                "the tests of {} do not pass without a mutant",
                program.display()
            );
        }
        (suite.quick, suite.slow) = (quick, slow);
        Ok(suite)
    }

    /// Tries a mutant: the quick tests first.
    pub(super) fn verdict(&self, number: usize) -> anyhow::Result<Verdict> {
        for part in [&self.quick, &self.slow] {
            // Without a name it would run all.
            if part.names.is_empty() {
                continue;
            }
            let mut arguments = vec!["--exact"];
            arguments.extend(part.names.iter().map(String::as_str));
            match self.run(Some(number), part.seconds(), &arguments, |_| ())? {
                Ended::Passed => {}
                Ended::Failed => return Ok(Verdict::Caught),
                Ended::Spent => return Ok(Verdict::NoEnd),
                Ended::Late => return Ok(Verdict::TooLate),
            }
        }
        Ok(Verdict::Lived)
    }

    fn run(
        &self,
        mutant: Option<usize>,
        seconds: u64,
        arguments: &[&str],
        mut passed: impl FnMut(&str),
    ) -> anyhow::Result<Ended> {
        let mut command = self.command(seconds);
        if let Some(number) = mutant {
            command.env(VARIABLE, number.to_string());
        }
        command
            .args(arguments)
            .arg("--test-threads=1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start `{}`", process::line(&command)))?;
        let pipe = child.stdout.take().context("no pipe to the child")?;
        let (lines, heard) = std::sync::mpsc::channel();
        thread::spawn(move || read(pipe, &lines));
        let deadline = Instant::now() + WALL;
        loop {
            match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok((name, true)) => passed(&name),
                // The first one is enough.
                Ok((_, false)) => return killed(&mut child, Ended::Failed),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    return killed(&mut child, Ended::Late);
                }
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = child.wait()?;
        Ok(match status.success() {
            true => Ended::Passed,
            false if is_spent(status) => Ended::Spent,
            false => Ended::Failed,
        })
    }

    #[cfg(unix)]
    fn command(&self, seconds: u64) -> Command {
        let mut command = process::command("sh");
        command
            .arg("-c")
            .arg(format!(
                "ulimit -t {seconds} && ulimit -v {MEMORY_KIB} && exec \"$0\" \"$@\""
            ))
            .arg(&self.program);
        self.environment(&mut command);
        command
    }

    #[cfg(not(unix))]
    fn command(&self, _: u64) -> Command {
        let mut command = process::command(&self.program);
        self.environment(&mut command);
        command
    }

    fn environment(&self, command: &mut Command) {
        command
            .current_dir(&self.folder)
            // As cargo does.
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .envs(PROPERTIES.iter().copied())
            .env("RUST_BACKTRACE", "0");
    }
}

#[derive(Debug, PartialEq)]
enum Ended {
    Passed,
    Failed,
    /// Its processor time is spent.
    Spent,
    Late,
}

/// Tells each test's name and whether it passed.
fn read(pipe: impl Read, lines: &std::sync::mpsc::Sender<(String, bool)>) {
    for line in BufReader::new(pipe).lines() {
        let Ok(line) = line else { return };
        if let Some(result) = result(&line)
            && lines.send(result).is_err()
        {
            return;
        }
    }
}

/// `test a::b ... ok`.
fn result(line: &str) -> Option<(String, bool)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    match result {
        "ok" => Some((name.to_owned(), true)),
        "FAILED" => Some((name.to_owned(), false)),
        _ => None,
    }
}

fn killed(child: &mut Child, ended: Ended) -> anyhow::Result<Ended> {
    child.kill()?;
    child.wait()?;
    Ok(ended)
}

/// Whether the system stopped it for the time that it took.
#[cfg(unix)]
fn is_spent(status: std::process::ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    const SIGKILL: i32 = 9;
    const SIGXCPU: i32 = 24;
    matches!(status.signal(), Some(SIGKILL | SIGXCPU))
}

#[cfg(not(unix))]
fn is_spent(_: std::process::ExitStatus) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::{Ended, Part, Suite, result};

    #[cfg(unix)]
    #[test]
    fn a_program_without_an_end_is_stopped_by_the_processor_time_that_it_took() {
        let suite = Suite {
            program: "/bin/sh".into(),
            folder: "/".into(),
            quick: Part::default(),
            slow: Part::default(),
        };
        let ended = suite.run(None, 1, &["-c", "while :; do :; done"], |_| ());
        assert_eq!(ended.unwrap(), Ended::Spent);
    }

    #[test]
    fn a_line_tells_a_test_and_whether_it_passed() {
        let some = |name: &str, passed| Some((name.to_owned(), passed));
        assert_eq!(result("test a::b ... ok"), some("a::b", true));
        assert_eq!(result("test a ... FAILED"), some("a", false));
        assert_eq!(result("test a - should panic ... ok"), some("a", true));
        assert_eq!(result("test a ... ignored"), None);
        assert_eq!(result("test result: ok. 1 passed"), None);
    }
}
