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
        if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == pinned)
            && venv.imports("sys")
        {
            return Ok(venv);
        }
        log.say("making the Python environment")?;
        let folder = &venv.0;
        log.set_up(
            process::command("python3")
                .args(["-m", "venv", "--clear", "--without-pip"])
                .arg(folder),
        )?;
        // Python compiles what it loads, which is a small part of what is installed.
        venv.install(context, log, |pip| {
            pip.arg("--no-compile").arg("-r").arg(requirements)
        })?;
        fs::write(stamp, pinned)?;
        Ok(venv)
    }

    /// Installs what these arguments of `pip install` say.
    pub(crate) fn install(
        &self,
        context: &Context,
        log: &mut Log,
        arguments: impl FnOnce(&mut Command) -> &mut Command,
    ) -> anyhow::Result<()> {
        // A copy of pip for each environment takes longer to make than most of them.
        let of_pip = context.made.pip.get(|| {
            let folder = context.scratch().join("venv-pip");
            let pip = Self(folder.clone());
            if !pip.imports("pip") {
                log.set_up(
                    process::command("python3")
                        .args(["-m", "venv", "--clear"])
                        .arg(&folder),
                )?;
            }
            Ok(folder)
        })?;
        let mut pip = Self(of_pip.clone()).python();
        pip.args(["-m", "pip", "--python"])
            .arg(self.python().get_program());
        log.set_up(arguments(pip.args(["install", "--quiet"])))
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

    fn imports(&self, module: &str) -> bool {
        let mut command = self.python();
        command
            .args(["-c", &format!("import {module}")])
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
