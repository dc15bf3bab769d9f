//! Child processes: how they are started, and how long they may take.

use anyhow::{Context as _, bail};
use std::{
    env,
    ffi::OsStr,
    io::Read,
    path::Path,
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// No command of a suite needs longer on a slow machine; one that does hangs.
const TIME_LIMIT: Duration = Duration::from_secs(30 * 60);

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
    let mut child = spawn(command)?;
    wait(&mut child, command)
}

/// Runs the command to its end and keeps what it wrote to stdout; stderr goes where the command says.
pub(crate) fn stdout(command: &mut Command) -> anyhow::Result<Output> {
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    let mut pipe = child.stdout.take().context("no pipe to the child")?;
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    });
    let status = wait(&mut child, command)?;
    let stdout = reader
        .join()
        .map_err(|_| anyhow::anyhow!("the reader of the child failed"))??;
    Ok(Output {
        status,
        stdout,
        stderr: Vec::new(),
    })
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

fn spawn(command: &mut Command) -> anyhow::Result<Child> {
    command
        .spawn()
        .with_context(|| format!("cannot start `{}`", line(command)))
}

fn wait(child: &mut Child, command: &Command) -> anyhow::Result<ExitStatus> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if started.elapsed() > TIME_LIMIT {
            child.kill()?;
            child.wait()?;
            bail!(
                "`{}` was still running after {} minutes",
                line(command),
                TIME_LIMIT.as_secs() / 60
            );
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
