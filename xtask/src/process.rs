//! Child processes: how they are started, what they took, and when they are given up. A command is a process group of
//! its own, with all that it starts, so that nothing of it is left behind.

use anyhow::{Context as _, anyhow, bail};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::{
    collections::BTreeSet,
    env,
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

/// The processor time that a command of a suite may take: several times what the longest one takes, and well below what CI
/// has for all of them. The time of the clock means nothing on a busy machine.
pub(crate) const PROCESSOR_LIMIT: Duration = Duration::from_secs(30 * 60);

/// A command that has computed for less than [`IDLE_PROCESSOR`] in this time hangs.
const IDLE_LIMIT: Duration = Duration::from_secs(10 * 60);
const IDLE_PROCESSOR: Duration = Duration::from_millis(500);

/// A command that has a limit is over after this time in any case: several times what the longest takes on a busy machine,
/// and early enough for the report of a run that has 90 minutes. One that waits in vain computes a little now and then.
const CLOCK_LIMIT: Duration = Duration::from_secs(45 * 60);

/// The time within which the output of a command that has ended is complete, unless a process that it has left holds it.
const REST_OF_OUTPUT: Duration = Duration::from_secs(60);

/// The time within which a command prints the sign that it is ready.
const READY: Duration = Duration::from_secs(10 * 60);

/// The interval at which a command's processor time is read.
const LOOK: Duration = Duration::from_secs(5);

/// The groups that are running.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Returns a command without the variables that `cargo run` set for this program.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
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
    let named = |(name, value): (&OsStr, Option<&OsStr>)| {
        value.map(|value| format!("{}={}", name.to_string_lossy(), quoted(value)))
    };
    let mut words: Vec<_> = command.get_envs().filter_map(named).collect();
    let program = Path::new(command.get_program());
    words.push(quoted(program.file_name().unwrap_or(program.as_os_str())));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

fn quoted(word: &OsStr) -> String {
    shell_words::quote(&word.to_string_lossy()).into_owned()
}

/// Returns whether the program can be started at all.
pub(crate) fn exists(program: &str) -> bool {
    succeeds(command(program).arg("--version"))
}

/// Returns whether the command succeeds; its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs the command to its end, unless it hangs or computes for longer than the limit, and returns its processor time.
/// Its output goes where the command sends it; output that is piped from stdout is returned.
pub(crate) fn run(command: &mut Command, limit: Duration) -> anyhow::Result<(Output, Duration)> {
    let mut running = Background::spawn(command)?;
    let pipe = running.child.stdout.take();
    let (send, output) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        // The receiver is gone if the command was given up.
        let _ = send.send(read.transpose().map(|_| bytes));
    });
    let (status, computed) = running.wait(command, limit)?;
    let stdout = output.recv_timeout(REST_OF_OUTPUT).map_err(|_| {
        let line = line(command);
        anyhow!("`{line}` has ended, and a process that it left behind holds its output")
    })?;
    let output = Output {
        status,
        stdout: stdout?,
        stderr: Vec::new(),
    };
    Ok((output, computed))
}

/// A command that runs next to others, until it is dropped: then it ends, with all processes that it started.
pub(crate) struct Background {
    child: Child,
    has_ended: bool,
}

impl Background {
    fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.process_group(0).spawn();
        let child = child.with_context(|| format!("cannot start `{}`", line(command)))?;
        running.insert(child.id());
        Ok(Self {
            child,
            has_ended: false,
        })
    }

    /// Starts it, and waits until it has printed a line with `sign` in it. Gives what it printed until then.
    pub(crate) fn start(command: &mut Command, sign: &str) -> anyhow::Result<(Self, String)> {
        Self::start_with(command, "", sign)
    }

    /// The same with `input` at its standard input, which stays open, as at a terminal.
    pub(crate) fn start_with(
        command: &mut Command,
        input: &str,
        sign: &str,
    ) -> anyhow::Result<(Self, String)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = Self::spawn(command)?;
        let stdin = running.child.stdin.as_mut().context("no pipe")?;
        stdin.write_all(input.as_bytes())?;
        let stdout = running.child.stdout.take().context("no pipe")?;
        let (send, lines) = mpsc::channel();
        // All of its output must be read, also what nobody waits for.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let _ = send.send(line);
            }
        });
        let started = Instant::now();
        let mut printed = String::new();
        loop {
            let left = READY.saturating_sub(started.elapsed());
            let next = match lines.recv_timeout(left) {
                Ok(line) => line?,
                Err(why) => {
                    let line = line(command);
                    let why = match why {
                        mpsc::RecvTimeoutError::Timeout => "hangs",
                        mpsc::RecvTimeoutError::Disconnected => "ended",
                    };
                    bail!("`{line}` {why} before it printed `{sign}`: {printed}")
                }
            };
            printed.push_str(&next);
            printed.push('\n');
            if next.contains(sign) {
                return Ok((running, printed));
            }
        }
    }

    /// Waits for the end.
    fn wait(
        mut self,
        command: &Command,
        limit: Duration,
    ) -> anyhow::Result<(ExitStatus, Duration)> {
        let started = Instant::now();
        let mut patience = Patience {
            limit,
            started,
            moved: (started, Duration::ZERO),
        };
        let mut looked = started;
        let mut pause = Duration::from_millis(1);
        // The process is not reaped until its times are read.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(self.group()?), look)?.is_none() {
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                // Where the system does not report a process's processor time, the clock replaces it.
                let computed = computed(self.child.id()).unwrap_or_else(|| started.elapsed());
                if let Some(reason) = patience.lost(looked, computed) {
                    bail!("`{}` {reason}", line(command));
                }
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        let computed = computed(self.child.id()).unwrap_or_default();
        Ok((self.end()?, computed))
    }

    fn group(&self) -> anyhow::Result<Pid> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?);
        pid.context("a process without a number")
    }

    /// Ends whatever is left of it.
    fn end(&mut self) -> anyhow::Result<ExitStatus> {
        // Its number is not reused before it is waited for.
        let _ = kill_process_group(self.group()?, Signal::KILL);
        let status = self.child.wait()?;
        self.has_ended = true;
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.child.id());
        Ok(status)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if !self.has_ended {
            let _ = self.end();
        }
    }
}

/// Ctrl-C reaches this program alone, since each command is a group of its own: it ends them all.
pub(crate) fn end_all_on_ctrl_c() -> anyhow::Result<()> {
    ctrlc::set_handler(|| end_all(130))?;
    Ok(())
}

/// Ends all commands, and this program with this exit code.
pub(crate) fn end_all(code: i32) -> ! {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    for group in running.iter() {
        if let Some(group) = i32::try_from(*group).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
    std::process::exit(code);
}

/// Returns the processor time of a group's processes so far, with those that they waited for, if the system reports it:
/// proc_pid_stat(5).
fn computed(group: u32) -> Option<Duration> {
    let ticks = fs::read_dir("/proc").ok()?.flatten().filter_map(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        // The name before them may hold spaces and brackets.
        let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let is_of_group = fields.get(2)?.parse() == Ok(group);
        let times = fields.get(11..15)?.iter();
        is_of_group.then(|| {
            times
                .filter_map(|time| time.parse::<u64>().ok())
                .sum::<u64>()
        })
    });
    let second = rustix::param::clock_ticks_per_second();
    Some(Duration::from_secs_f64(
        ticks.sum::<u64>() as f64 / second as f64,
    ))
}

/// The condition for giving up a command, by its processor time.
struct Patience {
    limit: Duration,
    started: Instant,
    /// The time of its last progress, and its processor time then.
    moved: (Instant, Duration),
}

impl Patience {
    /// Why it is given up, if it is.
    fn lost(&mut self, now: Instant, computed: Duration) -> Option<String> {
        if computed > self.limit {
            let minutes = self.limit.as_secs() / 60;
            return Some(format!(
                "still ran after {minutes} minutes of processor time"
            ));
        }
        let is_limited = self.limit < Duration::MAX;
        if is_limited && now.duration_since(self.started) > CLOCK_LIMIT {
            let minutes = CLOCK_LIMIT.as_secs() / 60;
            return Some(format!("still ran after {minutes} minutes"));
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
    use super::{
        Background, CLOCK_LIMIT, IDLE_LIMIT, IDLE_PROCESSOR, PROCESSOR_LIMIT, Patience, command,
        run,
    };
    use std::time::{Duration, Instant};

    #[test]
    fn a_slow_command_is_waited_for_and_one_that_hangs_or_never_ends_is_not() {
        let start = Instant::now();
        let patience = |limit| Patience {
            limit,
            started: start,
            moved: (start, Duration::ZERO),
        };
        let mut slow = patience(PROCESSOR_LIMIT);
        let mut proof = patience(Duration::MAX);
        let mut now = Duration::ZERO;
        let mut computed = Duration::ZERO;
        while now + IDLE_LIMIT * 2 < CLOCK_LIMIT {
            now += IDLE_LIMIT / 2;
            computed += IDLE_PROCESSOR;
            assert_eq!(slow.lost(start + now, computed), None);
            assert_eq!(proof.lost(start + now, computed), None);
        }
        let later = start + now + IDLE_LIMIT + Duration::from_secs(1);
        for patience in [&mut slow, &mut proof] {
            assert!(patience.lost(later, computed).unwrap().contains("hangs"));
        }
        let endless = PROCESSOR_LIMIT + Duration::from_secs(1);
        let reason = patience(PROCESSOR_LIMIT).lost(start, endless).unwrap();
        assert!(reason.contains("processor time"), "{reason}");
        let late = start + CLOCK_LIMIT + Duration::from_secs(1);
        assert_eq!(proof.lost(late, endless), None);
        let reason = slow.lost(late, computed + IDLE_PROCESSOR).unwrap();
        assert!(reason.contains("minutes"), "{reason}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_sign_that_a_command_does_not_print_is_not_waited_for_after_its_end() {
        let mut shell = command("sh");
        shell.args(["-c", "echo one; echo two"]);
        let started = Background::start(&mut shell, "three").err().unwrap();
        let message = started.to_string();
        assert!(
            message.contains("ended before") && message.contains("two"),
            "{message}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_command_took_counts_the_processes_that_it_waited_for() {
        let mut shell = command("sh");
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        shell.args(["-c", &format!("sh -c '{spin}'; true")]);
        let (output, computed) = run(&mut shell, PROCESSOR_LIMIT).unwrap();
        assert!(output.status.success());
        assert!(computed > Duration::ZERO);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_command_left_running_ends_with_it() {
        let mut shell = command("sh");
        // The shell's own output is closed, so that its end is not waited for.
        shell.args(["-c", "sleep 3600 >/dev/null 2>&1 & echo $!"]);
        let piped = shell.stdout(std::process::Stdio::piped());
        let (output, _) = run(piped, PROCESSOR_LIMIT).unwrap();
        let process = String::from_utf8(output.stdout).unwrap();
        let stat = format!("/proc/{}/stat", process.trim());
        // The process disappears once the system has reaped it.
        while std::fs::read_to_string(&stat).is_ok_and(|state| !state.contains(") Z ")) {
            std::thread::yield_now();
        }
    }
}
