//! Packages of npm, as their lock file has them.

use super::apt;
use crate::{log::Log, process};
use anyhow::Context as _;
use std::{fs, path::Path};

/// Installs what the project's `package-lock.json` names, unless that is there.
pub(crate) fn ensure(log: &mut Log, project: &Path) -> anyhow::Result<()> {
    install(log, project, &[])
}

/// The same, and runs nothing that the packages would have run.
pub(crate) fn ensure_without_scripts(log: &mut Log, project: &Path) -> anyhow::Result<()> {
    install(log, project, &["--ignore-scripts"])
}

fn install(log: &mut Log, project: &Path, scripts: &[&str]) -> anyhow::Result<()> {
    apt::ensure(log, &["node", "npm"], &["nodejs", "npm"])?;
    let lock = project.join("package-lock.json");
    let pinned =
        fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let stamp = project.join("node_modules/.made-from");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == pinned) {
        return Ok(());
    }
    log.say("installing the packages of npm")?;
    log.set_up(
        process::command("npm")
            .args(["ci", "--no-audit", "--no-fund"])
            .args(scripts)
            .current_dir(project),
    )?;
    Ok(fs::write(stamp, pinned)?)
}
