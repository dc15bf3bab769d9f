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
        venv.make(log, requirements, &["--without-pip"], |venv, log| {
            venv.install(context, log, |uv| uv.arg("-r").arg(requirements))
        })?;
        Ok(venv)
    }

    /// Makes the environment, unless it was made from these requirements.
    fn make(
        &self,
        log: &mut Log,
        requirements: &Path,
        options: &[&str],
        install: impl FnOnce(&Self, &mut Log) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let pinned = fs::read_to_string(requirements)
            .with_context(|| format!("cannot read {}", requirements.display()))?;
        let stamp = self.0.join("requirements.txt");
        if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == pinned) && self.works() {
            return Ok(());
        }
        log.say("making the Python environment")?;
        log.set_up(
            process::command("python3")
                .args(["-m", "venv", "--clear"])
                .args(options)
                .arg(&self.0),
        )?;
        install(self, log)?;
        fs::write(stamp, pinned)?;
        Ok(())
    }

    /// Installs what these arguments of `uv pip install` say. uv takes a tenth of pip's processor time, and keeps what
    /// it downloads.
    pub(crate) fn install(
        &self,
        context: &Context,
        log: &mut Log,
        arguments: impl FnOnce(&mut Command) -> &mut Command,
    ) -> anyhow::Result<()> {
        let uv = context.made.uv.get(|| uv(context, log))?;
        let mut install = process::command(uv);
        install
            .args(["pip", "install", "--quiet", "--system-certs", "--python"])
            .arg(self.python().get_program());
        log.set_up(arguments(&mut install))
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
            .args(["-c", "import sys"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

/// uv, which pip installs.
fn uv(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let venv = Venv::at(context.scratch().join("venv-uv"));
    let requirements = context.root.join("xtask/requirements-uv.txt");
    venv.make(log, &requirements, &[], |venv, log| {
        let mut pip = venv.python();
        pip.args(["-m", "pip", "install", "--quiet", "-r"]);
        log.set_up(pip.arg(&requirements))
    })?;
    Ok(venv.program("uv").get_program().into())
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
