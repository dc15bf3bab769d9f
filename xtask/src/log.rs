//! A suite's log: what its commands wrote, the few lines to be shown at once, and what it all took.

use crate::process::{self, Bound, Spent};
use anyhow::{Context as _, bail};
use std::{
    fs::{self, File},
    io::Write,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output},
    sync::{Mutex, PoisonError},
};

/// Cargo lets one build into a folder at a time, and lets it use all processors.
static BUILDING: Mutex<()> = Mutex::new(());

/// So many lines of what failed tests say are shown at once.
const MOST_SHOWN: usize = 80;

/// The signal of a program that aborts.
const SIGABRT: i32 = 6;

/// The signal of a memory fault.
const SIGSEGV: i32 = 11;

/// The log of one suite, `target/xtask/NAME.log`.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    building: Spent,
    testing: Spent,
}

impl Log {
    /// Starts an empty log.
    pub(crate) fn create(folder: &Path, name: &str) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{name}.log"));
        let file =
            File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self {
            path,
            file,
            building: Spent::default(),
            testing: Spent::default(),
        })
    }

    /// Where the log lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What its builds and installations took.
    pub(crate) fn building(&self) -> Spent {
        self.building
    }

    /// What its other commands took.
    pub(crate) fn testing(&self) -> Spent {
        self.testing
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
        let (status, spent) = self.logged(command, Bound::Suite)?;
        self.testing += spent;
        succeeded(command, status)
    }

    /// The same for a test program of Rust's. Of the tests that failed it shows what they say, and names them; where the
    /// program hangs, it names those that did not end.
    pub(crate) fn run_tests(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let begin = fs::metadata(&self.path)?.len();
        let Err(error) = self.run(command) else {
            return Ok(());
        };
        let log = fs::read(&self.path)?;
        let begin = usize::try_from(begin)?.min(log.len());
        let said = String::from_utf8_lossy(&log[begin..]).into_owned();
        if let Some((_, failures)) = said.split_once("\nfailures:\n") {
            for line in failures.lines().take(MOST_SHOWN) {
                self.say(line)?;
            }
        }
        let failed: Vec<_> = said.lines().filter_map(failed_test).collect();
        if !failed.is_empty() {
            bail!("{}", failed.join(", "))
        }
        match unended_tests(&said)[..] {
            [] => Err(error),
            ref tests => Err(error.context(format!("{} did not end", tests.join(", ")))),
        }
    }

    /// The same for a tool that itself crashes now and then: ended by a fault of its own, it runs once more.
    /// What it runs in processes of its own, such as tests, gives it an exit code, which is final.
    pub(crate) fn run_crash_prone(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let (status, spent) = self.logged(command, Bound::Suite)?;
        self.testing += spent;
        if !matches!(status.signal(), Some(SIGABRT | SIGSEGV)) {
            return succeeded(command, status);
        }
        let program = command.get_program().display();
        self.say(&format!("{program} itself crashed ({status}): once more"))?;
        self.run(command)
    }

    /// The same for what a suite sets up before it tests: it counts as building.
    pub(crate) fn set_up(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let (status, spent) = self.logged(command, Bound::Suite)?;
        self.building += spent;
        succeeded(command, status)
    }

    /// The same for a build by cargo. One runs at a time.
    pub(crate) fn build(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        self.set_up(command)
    }

    /// The same with what it wrote to stdout, and whether it succeeded.
    pub(crate) fn build_output(&mut self, command: &mut Command) -> anyhow::Result<Output> {
        let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        let (output, spent) = self.piped(command)?;
        self.building += spent;
        Ok(output)
    }

    /// Runs a proof, which may take hours.
    pub(crate) fn run_unbounded(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let status = self.status_unbounded(command)?;
        succeeded(command, status)
    }

    /// Runs a command that may take hours, with its output in the log, and gives back its exit status.
    pub(crate) fn status_unbounded(&mut self, command: &mut Command) -> anyhow::Result<ExitStatus> {
        let (status, spent) = self.logged(command, Bound::None)?;
        self.testing += spent;
        Ok(status)
    }

    /// Runs a command and gives back what it wrote to stdout; anything but success is an error.
    pub(crate) fn read(&mut self, command: &mut Command) -> anyhow::Result<String> {
        let output = self.output(command)?;
        if !output.status.success() {
            self.write(&String::from_utf8_lossy(&output.stdout))?;
        }
        succeeded(command, output.status)?;
        String::from_utf8(output.stdout)
            .with_context(|| format!("`{}` wrote what is not UTF-8", process::line(command)))
    }

    /// Runs a command and gives back stdout and the exit status, whatever that is.
    pub(crate) fn output(&mut self, command: &mut Command) -> anyhow::Result<Output> {
        let (output, spent) = self.piped(command)?;
        self.testing += spent;
        Ok(output)
    }

    /// The same without a line for the command, whose environment is nobody's business.
    pub(crate) fn unnamed_output(&mut self, command: &mut Command) -> anyhow::Result<Output> {
        let (output, spent) = process::stdout(command.stderr(self.file.try_clone()?))?;
        self.took(spent)?;
        self.testing += spent;
        Ok(output)
    }

    /// How many tests passed, by the lines of Rust's test programs in the log.
    pub(crate) fn tests_passed(&self) -> anyhow::Result<u64> {
        let text = String::from_utf8_lossy(&fs::read(&self.path)?).into_owned();
        Ok(text.lines().filter_map(passed).sum())
    }

    /// The last lines of the log.
    pub(crate) fn tail(&self, lines: usize) -> anyhow::Result<String> {
        let text = String::from_utf8_lossy(&fs::read(&self.path)?).into_owned();
        let all: Vec<_> = text.lines().collect();
        Ok(all[all.len().saturating_sub(lines)..].join("\n"))
    }

    fn logged(
        &mut self,
        command: &mut Command,
        bound: Bound,
    ) -> anyhow::Result<(ExitStatus, Spent)> {
        self.write(&format!("$ {}", process::line(command)))?;
        command
            .stdout(self.file.try_clone()?)
            .stderr(self.file.try_clone()?);
        let (status, spent) = process::run(command, bound)?;
        self.took(spent)?;
        Ok((status, spent))
    }

    fn piped(&mut self, command: &mut Command) -> anyhow::Result<(Output, Spent)> {
        self.write(&format!("$ {}", process::line(command)))?;
        let (output, spent) = process::stdout(command.stderr(self.file.try_clone()?))?;
        self.took(spent)?;
        Ok((output, spent))
    }

    fn took(&mut self, spent: Spent) -> anyhow::Result<()> {
        let (wall, processor) = (spent.wall.as_secs_f64(), spent.processor.as_secs_f64());
        self.write(&format!(
            "# {wall:.1} s, {processor:.1} s of processor time"
        ))
    }
}

/// How many tests passed, from `test result: ok. 12 passed; …`.
fn passed(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("test result: ok. ")?;
    rest.split_once(" passed")?.0.parse().ok()
}

/// The test's name, from `test name ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// The tests that were said to run for long, and of which nothing more was said.
fn unended_tests(said: &str) -> Vec<&str> {
    let long = said.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("test ")?.split_once(' ')?;
        rest.starts_with("has been running for").then_some(name)
    });
    let has_ended = |name: &str| said.contains(&format!("\ntest {name} ... "));
    long.filter(|name| !has_ended(name)).collect()
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
        run("exit 139").expect_err("an exit code is final");
        assert_eq!(runs(&folder)?, 5);
        run("kill -TERM $$").expect_err("it was stopped by somebody else");
        assert_eq!(runs(&folder)?, 6);
        run("kill -SEGV $$").expect_err("it crashes again");
        assert_eq!(runs(&folder)?, 8);
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
        assert_eq!(run("echo 'test before ... FAILED'"), Ok(()));
        assert_eq!(run(failing), Err("of::it".to_owned()));
        let long = "echo 'test of::it has been running for over 60 seconds'";
        let killed = run(&format!("echo; {long}; exit 137")).expect_err("it failed");
        assert_eq!(killed, "of::it did not end");
        let ended = run(&format!("{long}; echo 'test of::it ... ok'; exit 3"));
        let ended = ended.expect_err("it failed");
        assert!(ended.contains("exit status: 3"), "{ended}");
        let crashed = run("exit 3").expect_err("it failed");
        assert!(crashed.contains("exit status: 3"), "{crashed}");
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
