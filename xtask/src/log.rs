//! A suite's log: what its commands wrote, and the few lines a person should see.

use crate::process;
use anyhow::{Context as _, bail};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output},
};

/// The log of one suite, `target/xtask/NAME.log`.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Starts an empty log.
    pub(crate) fn create(folder: &Path, name: &str) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{name}.log"));
        let file =
            File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path, file })
    }

    /// Where the log lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
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
        self.write(&format!("$ {}", process::line(command)))?;
        command
            .stdout(self.file.try_clone()?)
            .stderr(self.file.try_clone()?);
        let status = process::status(command)?;
        if !status.success() {
            bail!("`{}` failed: {status}", process::line(command));
        }
        Ok(())
    }

    /// The same for a proof, which may take hours.
    pub(crate) fn run_unbounded(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let status = self.status_unbounded(command)?;
        if !status.success() {
            bail!("`{}` failed: {status}", process::line(command));
        }
        Ok(())
    }

    /// Runs a command that may take hours, with its output in the log, and gives back its exit status.
    pub(crate) fn status_unbounded(&mut self, command: &mut Command) -> anyhow::Result<ExitStatus> {
        self.write(&format!("$ {}", process::line(command)))?;
        command
            .stdout(self.file.try_clone()?)
            .stderr(self.file.try_clone()?);
        let status = command.status();
        status.with_context(|| format!("cannot start `{}`", process::line(command)))
    }

    /// Runs a command and gives back what it wrote to stdout; anything but success is an error.
    pub(crate) fn read(&mut self, command: &mut Command) -> anyhow::Result<String> {
        let output = self.output(command)?;
        if !output.status.success() {
            self.write(&String::from_utf8_lossy(&output.stdout))?;
            bail!("`{}` failed: {}", process::line(command), output.status);
        }
        String::from_utf8(output.stdout)
            .with_context(|| format!("`{}` wrote what is not UTF-8", process::line(command)))
    }

    /// Runs a command and gives back stdout and the exit status, whatever that is.
    pub(crate) fn output(&mut self, command: &mut Command) -> anyhow::Result<Output> {
        self.write(&format!("$ {}", process::line(command)))?;
        process::stdout(command.stderr(self.file.try_clone()?))
    }

    /// The last lines of the log.
    pub(crate) fn tail(&self, lines: usize) -> anyhow::Result<String> {
        let text = String::from_utf8_lossy(&fs::read(&self.path)?).into_owned();
        let all: Vec<_> = text.lines().collect();
        Ok(all[all.len().saturating_sub(lines)..].join("\n"))
    }
}
