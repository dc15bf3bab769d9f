//! Packages of npm, as their lock file has them.

use super::apt;
use crate::{log::Log, process};
use anyhow::Context as _;
use std::{fs, path::Path, process::Command};

/// Installs what the project's `package-lock.json` names, unless that is there.
pub(crate) fn ensure(log: &mut Log, project: &Path) -> anyhow::Result<()> {
    apt::ensure(log, &["node", "npm"], &["nodejs", "npm"])?;
    let lock = project.join("package-lock.json");
    let pinned =
        fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let stamp = project.join("node_modules/.made-from");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == pinned) {
        return Ok(());
    }
    log.say("installing the packages of npm")?;
    let mut npm = process::command("npm");
    npm.args(["ci", "--prefer-offline", "--no-audit", "--no-fund"]);
    log.run(npm.current_dir(project))?;
    Ok(fs::write(stamp, pinned)?)
}

/// A script in the project, by Node.
pub(crate) fn script(project: &Path, script: &str) -> Command {
    let mut node = process::command("node");
    node.arg(script).current_dir(project);
    node
}
