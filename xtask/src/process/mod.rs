//! Child processes: how they are started, what they took, and when they are given up.

mod group;

use anyhow::{Context as _, bail};
use group::Group;
use std::{
    env,
    ffi::OsStr,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

pub(crate) use group::end_all_on_ctrl_c;

/// No command of a suite computes for longer, whatever the machine.
const PROCESSOR_LIMIT: Duration = Duration::from_secs(60 * 60);

/// A command that has computed for less than [`IDLE_PROCESSOR`] in so long hangs.
const IDLE_LIMIT: Duration = Duration::from_secs(10 * 60);
const IDLE_PROCESSOR: Duration = Duration::from_millis(500);

/// How often it is looked what a command has computed.
const LOOK: Duration = Duration::from_secs(5);

/// What a command took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// From its start to its end.
    pub(crate) wall: Duration,
    /// Of all processors, with the processes that it started; zero where the system does not tell.
    pub(crate) processor: Duration,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.wall += other.wall;
        self.processor += other.processor;
    }
}

impl std::ops::SubAssign for Spent {
    fn sub_assign(&mut self, other: Self) {
        self.wall = self.wall.saturating_sub(other.wall);
        self.processor = self.processor.saturating_sub(other.processor);
    }
}

/// How long a command may go on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    /// Until it has computed for an hour, or hangs: the time of the clock says nothing on a busy machine.
    Suite,
    /// For hours.
    None,
}

/// A command without what `cargo run` told this program about itself.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for (name, _) in env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PKG_") || name_text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The command as one would type it, a program with its full path by its name.
pub(crate) fn line(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", name.to_string_lossy(), quoted(value)));
        }
    }
    let program = Path::new(command.get_program());
    words.push(quoted(if program.is_absolute() {
        program.file_name().unwrap_or(program.as_os_str())
    } else {
        program.as_os_str()
    }));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.is_empty() || word.contains([' ', '"', '\'', '$']) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.into_owned()
    }
}

/// Runs the command to its end; its output goes where the command says.
pub(crate) fn status(command: &mut Command) -> anyhow::Result<ExitStatus> {
    Ok(run(command, Bound::Suite)?.0)
}

/// The same, with what it took.
pub(crate) fn run(command: &mut Command, bound: Bound) -> anyhow::Result<(ExitStatus, Spent)> {
    let (mut child, group) = spawn(command)?;
    wait(&mut child, &group, command, bound)
}

/// Runs the command to its end and keeps what it wrote to stdout; stderr goes where the command says.
pub(crate) fn stdout(command: &mut Command) -> anyhow::Result<(Output, Spent)> {
    let (mut child, group) = spawn(command.stdout(Stdio::piped()))?;
    let mut pipe = child.stdout.take().context("no pipe to the child")?;
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    });
    let (status, spent) = wait(&mut child, &group, command, Bound::Suite)?;
    let stdout = reader
        .join()
        .map_err(|_| anyhow::anyhow!("the reader of the child failed"))??;
    let output = Output {
        status,
        stdout,
        stderr: Vec::new(),
    };
    Ok((output, spent))
}

/// A command that goes on beside others, until it is dropped: then it ends, with all that it started.
pub(crate) struct Background {
    child: Child,
    group: Group,
}

impl Background {
    /// Starts it, and waits until it has printed a line with `sign` in it. Gives what it printed until then.
    pub(crate) fn start(command: &mut Command, sign: &str) -> anyhow::Result<(Self, String)> {
        // Its input stays open, as at a terminal.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let (mut child, group) = spawn(command)?;
        let stdout = child.stdout.take().context("no pipe to the child")?;
        let running = Self { child, group };
        let mut lines = BufReader::new(stdout).lines();
        let mut printed = String::new();
        for line in &mut lines {
            let line = line?;
            printed.push_str(&line);
            printed.push('\n');
            if line.contains(sign) {
                // What else it prints must go somewhere.
                thread::spawn(move || lines.for_each(drop));
                return Ok((running, printed));
            }
        }
        bail!(
            "`{}` ended before it printed `{sign}`: {printed}",
            line(command)
        )
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.group.end();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether the program can be started at all.
pub(crate) fn exists(program: &str) -> bool {
    let mut command = command(program);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn spawn(command: &mut Command) -> anyhow::Result<(Child, Group)> {
    Group::spawn(command).with_context(|| format!("cannot start `{}`", line(command)))
}

/// Waits for the end. Whatever the command has left running ends with it.
fn wait(
    child: &mut Child,
    group: &Group,
    command: &Command,
    bound: Bound,
) -> anyhow::Result<(ExitStatus, Spent)> {
    let started = Instant::now();
    let mut patience = Patience::new(started);
    let mut looked = started;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(processor) = group.ended(child)? {
            group.end();
            let status = child.wait()?;
            let wall = started.elapsed();
            return Ok((status, Spent { wall, processor }));
        }
        if bound == Bound::Suite && looked.elapsed() > LOOK {
            looked = Instant::now();
            // Where the system does not say what a process computed, the clock stands for it.
            let computed = group.processor().unwrap_or_else(|| started.elapsed());
            if let Some(reason) = patience.lost(looked, computed) {
                group.end();
                child.kill()?;
                child.wait()?;
                bail!("`{}` {reason}", line(command));
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// When a command is given up, by what it computes.
struct Patience {
    /// When it was last seen to compute, and how much it had computed then.
    moved: (Instant, Duration),
}

impl Patience {
    fn new(started: Instant) -> Self {
        Self {
            moved: (started, Duration::ZERO),
        }
    }

    /// Why it is given up, if it is.
    fn lost(&mut self, now: Instant, computed: Duration) -> Option<String> {
        if computed > PROCESSOR_LIMIT {
            let minutes = PROCESSOR_LIMIT.as_secs() / 60;
            return Some(format!(
                "was still running after {minutes} minutes of processor time"
            ));
        }
        if computed >= self.moved.1 + IDLE_PROCESSOR {
            self.moved = (now, computed);
        } else if now.duration_since(self.moved.0) > IDLE_LIMIT {
            let minutes = IDLE_LIMIT.as_secs() / 60;
            return Some(format!("hangs: it computed nothing for {minutes} minutes"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, IDLE_PROCESSOR};
    use super::{IDLE_LIMIT, PROCESSOR_LIMIT, Patience, command, run, stdout};
    use std::time::{Duration, Instant};

    #[test]
    fn a_slow_command_is_waited_for_and_one_that_hangs_or_never_ends_is_not() {
        let start = Instant::now();
        let mut slow = Patience::new(start);
        let hours = Duration::from_secs(4 * 60 * 60);
        let mut now = Duration::ZERO;
        let mut computed = Duration::ZERO;
        while now < hours {
            now += IDLE_LIMIT / 2;
            computed += IDLE_PROCESSOR;
            assert_eq!(slow.lost(start + now, computed), None);
        }
        let later = start + now + IDLE_LIMIT + Duration::from_secs(1);
        assert!(slow.lost(later, computed).unwrap().contains("hangs"));
        let endless = PROCESSOR_LIMIT + Duration::from_secs(1);
        let mut quick = Patience::new(start);
        let reason = quick.lost(start, endless).unwrap();
        assert!(reason.contains("processor time"), "{reason}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_command_took_counts_the_processes_that_it_waited_for() {
        let mut shell = command("sh");
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        shell.args(["-c", &format!("sh -c '{spin}'; true")]);
        let (status, spent) = run(&mut shell, Bound::Suite).unwrap();
        assert!(status.success());
        assert!(spent.processor > Duration::ZERO);
        assert!(spent.wall >= spent.processor / 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_command_left_running_ends_with_it() {
        let mut shell = command("sh");
        // The shell's own output is closed, so that its end is not waited for.
        shell.args(["-c", "sleep 3600 >/dev/null 2>&1 & echo $!"]);
        let (output, _) = stdout(&mut shell).unwrap();
        let process: u32 = String::from_utf8(output.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{process}/stat"));
        // It is gone as soon as the system has taken it away.
        while state().is_ok_and(|state| !state.contains(") Z ")) {
            std::thread::yield_now();
        }
    }
}
