//! The Python virtual environments of the suites, in `target/xtask`, by uv, which takes a tenth of pip's processor time
//! and keeps what it downloads.

use super::apt;
use crate::{context::Context, log::Log, process};
use anyhow::Context as _;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
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
        let pinned = fs::read_to_string(requirements)
            .with_context(|| format!("cannot read {}", requirements.display()))?;
        let venv = Self::at(context.scratch().join(name));
        let stamp = venv.0.join("requirements.txt");
        let is_made = fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == pinned);
        if !is_made || !process::succeeds(venv.python().arg("-V")) {
            log.say("making the Python environment")?;
            let mut uv = uv(context, log)?;
            uv.args(["venv", "--quiet", "--clear", "--no-python-downloads"]);
            log.run(uv.arg(&venv.0))?;
            venv.install(context, log, |uv| uv.arg("-r").arg(requirements))?;
            fs::write(stamp, pinned)?;
        }
        Ok(venv)
    }

    /// Installs packages with these arguments of `uv pip install`.
    pub(crate) fn install(
        &self,
        context: &Context,
        log: &mut Log,
        arguments: impl FnOnce(&mut Command) -> &mut Command,
    ) -> anyhow::Result<()> {
        let mut install = uv(context, log)?;
        install
            .args(["pip", "install", "--quiet", "--system-certs", "--python"])
            .arg(self.python().get_program());
        log.run(arguments(&mut install))
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
        let mut command = process::command(self.0.join("bin").join(name));
        // maturin looks for the environment it should build for.
        command.env("VIRTUAL_ENV", &self.0).env_remove("PYTHONPATH");
        command
    }
}

/// uv, which pip installs.
fn uv(context: &Context, log: &mut Log) -> anyhow::Result<Command> {
    let venv = Venv::at(context.scratch().join("venv-uv"));
    context.made.uv.get(|| {
        let requirements = context.root.join("xtask/requirements-uv.txt");
        let pinned = fs::read_to_string(&requirements)?.replace("==", " ");
        let mut version = venv.program("uv");
        let version = version.arg("--version").output();
        if version.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).starts_with(pinned.trim())) {
            return Ok(());
        }
        // Debian's `python3` comes without `ensurepip`.
        let can_make = || {
            process::succeeds(process::command("python3").args(["-c", "import ensurepip, venv"]))
        };
        let packages = ["python3", "python3-venv"];
        apt::ensure_that(log, can_make, "python3 with venv and pip", &packages)?;
        let mut python = process::command("python3");
        log.run(python.args(["-m", "venv", "--clear"]).arg(&venv.0))?;
        let mut pip = venv.python();
        log.run(
            pip.args(["-m", "pip", "install", "--quiet", "-r"])
                .arg(&requirements),
        )
    })?;
    Ok(venv.program("uv"))
}
