//! A suite's log: what its commands wrote, the few lines to be shown at once, and what it all took.

use crate::process::{self, PROCESSOR_LIMIT};
use anyhow::{Context as _, bail};
use std::{
    fs::{self, File},
    io::Write,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Cargo lets one build into a folder at a time, and lets it use all processors.
static BUILDING: Mutex<()> = Mutex::new(());

/// The number of lines of failed tests' output that are shown at once.
const MOST_SHOWN: usize = 80;

/// The signals of a program that aborts, and of a memory fault.
const CRASHES: [i32; 2] = [6, 11];

/// The log of one suite, `target/xtask/NAME.log`.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    computed: Duration,
}

impl Log {
    /// Starts an empty log.
    pub(crate) fn create(folder: &Path, name: &str) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = path_of(folder, name);
        let file =
            File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let computed = Duration::ZERO;
        Ok(Self {
            path,
            file,
            computed,
        })
    }

    /// Returns the path of the log.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the processor time of its commands.
    pub(crate) fn computed(&self) -> Duration {
        self.computed
    }

    /// Writes a line to the log only.
    pub(crate) fn write(&mut self, text: &str) -> anyhow::Result<()> {
        writeln!(self.file, "{text}").context("cannot write the log")
    }

    /// Writes a line to the log and to the terminal.
    pub(crate) fn say(&mut self, text: &str) -> anyhow::Result<()> {
        println!("   {text}");
        self.write(text)
    }

    /// Runs a command with its output in the log; anything but success is an error.
    pub(crate) fn run(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let status = self.status(command, PROCESSOR_LIMIT)?;
        succeeded(command, status)
    }

    /// The same for a proof, which may take hours.
    pub(crate) fn run_unbounded(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let status = self.status_unbounded(command)?;
        succeeded(command, status)
    }

    /// The same, whatever its exit status is.
    pub(crate) fn status_unbounded(&mut self, command: &mut Command) -> anyhow::Result<ExitStatus> {
        self.status(command, Duration::MAX)
    }

    /// Runs a build by cargo. One runs at a time.
    pub(crate) fn build(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        self.run(command)
    }

    /// Runs test programs of Rust's: names the tests that failed, and shows their output.
    pub(crate) fn run_tests(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let Err(error) = self.run(command) else {
            return Ok(());
        };
        let log = self.text()?;
        for failures in log.split("\nfailures:\n\n").skip(1) {
            for line in failures.lines().take(MOST_SHOWN) {
                self.say(line)?;
            }
        }
        let failed: Vec<_> = log.lines().filter_map(failed_test).collect();
        if failed.is_empty() {
            return Err(error);
        }
        bail!("{}", failed.join(", "))
    }

    /// Runs a tool that itself crashes now and then: after a fault of its own, it runs again. A shell or a sandbox
    /// around it reports the signal as an exit code, 128 more than its number. A failure in processes that the tool
    /// starts, such as tests, makes it exit with a code of its own, which is final.
    pub(crate) fn run_crash_prone(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let status = self.status(command, PROCESSOR_LIMIT)?;
        let signal = status
            .signal()
            .or_else(|| status.code().map(|code| code - 128));
        if signal.is_none_or(|it| !CRASHES.contains(&it)) {
            return succeeded(command, status);
        }
        let program = command.get_program().display();
        self.say(&format!("{program} itself crashed ({status}): once more"))?;
        self.run(command)
    }

    /// Runs a command and shows its stdout, line by line; anything but success is an error.
    pub(crate) fn show(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let output = self.output(command)?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            self.say(line)?;
        }
        succeeded(command, output.status)
    }

    /// Runs a command and returns its stdout; anything but success is an error.
    pub(crate) fn read(&mut self, command: &mut Command) -> anyhow::Result<String> {
        let output = self.output(command)?;
        if !output.status.success() {
            self.write(&String::from_utf8_lossy(&output.stdout))?;
        }
        succeeded(command, output.status)?;
        String::from_utf8(output.stdout)
            .with_context(|| format!("`{}` wrote what is not UTF-8", process::line(command)))
    }

    /// The same for a build by cargo.
    pub(crate) fn read_build(&mut self, command: &mut Command) -> anyhow::Result<String> {
        let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(command)
    }

    /// Runs a command and returns stdout and any exit status.
    pub(crate) fn output(&mut self, command: &mut Command) -> anyhow::Result<Output> {
        self.write(&format!("$ {}", process::line(command)))?;
        let started = Instant::now();
        command
            .stdout(Stdio::piped())
            .stderr(self.file.try_clone()?);
        let (output, computed) = process::run(command, PROCESSOR_LIMIT)?;
        self.took(started, computed)?;
        Ok(output)
    }

    /// Returns the number of tests that passed, by the lines of Rust's test programs in the log.
    pub(crate) fn tests_passed(&self) -> anyhow::Result<u64> {
        Ok(self.text()?.lines().filter_map(passed).sum())
    }

    /// The last lines of the log.
    pub(crate) fn tail(&self, lines: usize) -> anyhow::Result<String> {
        tail(&self.path, lines)
    }

    fn text(&self) -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(&self.path)?).into_owned())
    }

    fn status(&mut self, command: &mut Command, limit: Duration) -> anyhow::Result<ExitStatus> {
        self.write(&format!("$ {}", process::line(command)))?;
        command
            .stdout(self.file.try_clone()?)
            .stderr(self.file.try_clone()?);
        let started = Instant::now();
        let (output, computed) = process::run(command, limit)?;
        self.took(started, computed)?;
        Ok(output.status)
    }

    fn took(&mut self, started: Instant, computed: Duration) -> anyhow::Result<()> {
        self.computed += computed;
        let (wall, computed) = (started.elapsed().as_secs_f64(), computed.as_secs_f64());
        self.write(&format!("# {wall:.1} s, {computed:.1} s of processor time"))
    }
}

/// Returns the last lines of the log of this name.
pub(crate) fn tail_of(folder: &Path, name: &str, lines: usize) -> anyhow::Result<String> {
    tail(&path_of(folder, name), lines)
}

fn tail(path: &Path, lines: usize) -> anyhow::Result<String> {
    let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
    let all: Vec<_> = text.lines().collect();
    Ok(all[all.len().saturating_sub(lines)..].join("\n"))
}

fn path_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}

/// Returns the number of tests that passed, from `test result: ok. 12 passed; …`.
fn passed(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("test result: ok. ")?;
    rest.split_once(" passed")?.0.parse().ok()
}

/// The test's name, from `test name ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

fn succeeded(command: &Command, status: ExitStatus) -> anyhow::Result<()> {
    if !status.success() {
        bail!("`{}` failed: {status}", process::line(command));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Log, passed};
    use std::{
        env, fs,
        path::Path,
        process::{self, Command},
    };

    #[test]
    fn a_tool_that_crashed_itself_runs_once_more() -> anyhow::Result<()> {
        let folder = env::temp_dir().join(format!("stepwell-crashes-{}", process::id()));
        let mut log = Log::create(&folder, "crashes")?;
        let runs = |folder: &Path| fs::read_to_string(folder.join("runs")).map(|runs| runs.len());
        let mut run = |script: &str| {
            let script = format!("printf x >> runs; {script}");
            let mut command = Command::new("sh");
            log.run_crash_prone(command.args(["-c", &script]).current_dir(&folder))
        };
        for signal in ["SEGV", "ABRT"] {
            run(&format!(
                "[ -e {signal} ] || {{ touch {signal}; kill -{signal} $$; }}"
            ))?;
        }
        assert_eq!(runs(&folder)?, 4);
        run("[ -e sandboxed ] || { touch sandboxed; exit 139; }")?;
        assert_eq!(runs(&folder)?, 6);
        run("exit 1").expect_err("its own exit code is final");
        assert_eq!(runs(&folder)?, 7);
        run("kill -TERM $$").expect_err("it was stopped by somebody else");
        assert_eq!(runs(&folder)?, 8);
        run("kill -SEGV $$").expect_err("it crashes again");
        assert_eq!(runs(&folder)?, 10);
        fs::remove_dir_all(folder)?;
        Ok(())
    }

    #[test]
    fn what_a_failed_test_says_is_named() -> anyhow::Result<()> {
        let folder = env::temp_dir().join(format!("stepwell-tests-{}", process::id()));
        let mut log = Log::create(&folder, "tests")?;
        let mut run = |script: &str| {
            let result = log.run_tests(Command::new("sh").args(["-c", script]));
            result.map_err(|error| error.to_string())
        };
        let failing = "echo 'test of::it ... FAILED'; echo 'test other ... ok'; exit 101";
        assert_eq!(run("true"), Ok(()));
        let crashed = run("exit 3").expect_err("it failed");
        assert!(crashed.contains("exit status: 3"), "{crashed}");
        assert_eq!(run(failing), Err("of::it".to_owned()));
        fs::remove_dir_all(folder)?;
        Ok(())
    }

    #[test]
    fn reads_what_passed() {
        assert_eq!(
            passed("test result: ok. 12 passed; 0 failed; 0 ignored"),
            Some(12)
        );
        assert_eq!(passed("test result: FAILED. 12 passed; 1 failed"), None);
        assert_eq!(passed("running 3 tests"), None);
    }
}
