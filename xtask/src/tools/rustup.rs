//! The toolchain's targets and components.

use super::Unavailable;
use crate::{log::Log, process};
use std::path::Path;

/// Returns this machine's target.
pub(crate) fn host(log: &mut Log) -> anyhow::Result<String> {
    let host = log.read(process::command("rustc").args(["--print", "host-tuple"]))?;
    Ok(host.trim().to_owned())
}

/// Makes sure that the standard library for `triple` is there.
pub(crate) fn target(log: &mut Log, triple: &str) -> anyhow::Result<()> {
    let mut rustc = process::command("rustc");
    rustc.args(["--print", "target-libdir", "--target", triple]);
    let folder = log.read(&mut rustc)?;
    let is_there = || Path::new(folder.trim()).is_dir();
    if is_there() {
        return Ok(());
    }
    log.say(&format!("adding the target {triple}"))?;
    let added = log.run(process::command("rustup").args(["target", "add", triple]));
    if added.is_ok() && is_there() {
        return Ok(());
    }
    let hint = format!("the target {triple} is missing; `rustup target add {triple}` adds it");
    Err(Unavailable(hint).into())
}

/// Makes sure that `cargo COMMAND` is there, from the toolchain's component of that name.
pub(crate) fn component(log: &mut Log, command: &str, name: &str) -> anyhow::Result<()> {
    if process::succeeds(process::cargo().args([command, "--version"])) {
        return Ok(());
    }
    log.say(&format!("adding the component {name}"))?;
    log.run(process::command("rustup").args(["component", "add", name]))
}
