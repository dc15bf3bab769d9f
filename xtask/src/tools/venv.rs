//! The Python virtual environment of the suites, `target/xtask/venv`.

use super::apt;
use crate::{context::Context, log::Log, process};
use anyhow::Context as _;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A virtual environment with the pinned tools in it.
pub(crate) struct Venv(PathBuf);

impl Venv {
    /// Makes the environment of this name, or takes the one at hand if it was made from the same requirements.
    pub(crate) fn ensure(
        context: &Context,
        log: &mut Log,
        name: &str,
        requirements: &Path,
    ) -> anyhow::Result<Self> {
        apt::ensure_that(
            log,
            python_is_whole,
            "python3 with venv and pip",
            &["python3", "python3-venv"],
        )?;
        let venv = Self(context.scratch().join(name));
        let pinned = fs::read_to_string(requirements)
            .with_context(|| format!("cannot read {}", requirements.display()))?;
        let stamp = venv.0.join("requirements.txt");
        if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == pinned) && venv.works() {
            return Ok(venv);
        }
        log.say("making the Python environment")?;
        log.set_up(
            process::command("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&venv.0),
        )?;
        log.set_up(
            venv.python()
                // Python compiles what it loads, which is a small part of what is installed.
                .args(["-m", "pip", "install", "--quiet", "--no-compile", "-r"])
                .arg(requirements),
        )?;
        fs::write(stamp, pinned)?;
        Ok(venv)
    }

    /// The environment in this folder, which is there.
    pub(crate) const fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The environment's Python.
    pub(crate) fn python(&self) -> Command {
        self.program("python")
    }

    /// A program that a package installed.
    pub(crate) fn program(&self, name: &str) -> Command {
        let folder = self.0.join(if cfg!(windows) { "Scripts" } else { "bin" });
        let mut command = process::command(folder.join(name));
        // maturin looks for the environment it should build for.
        command.env("VIRTUAL_ENV", &self.0).env_remove("PYTHONPATH");
        command
    }

    fn works(&self) -> bool {
        let mut command = self.python();
        command
            .args(["-m", "pip", "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

/// Debian's `python3` comes without `ensurepip`.
fn python_is_whole() -> bool {
    let mut command = process::command("python3");
    command
        .args(["-c", "import ensurepip, venv"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
