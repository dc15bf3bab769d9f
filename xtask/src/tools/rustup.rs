//! The toolchain's targets and components.

use super::Unavailable;
use crate::{log::Log, process};
use std::path::Path;

/// This machine's target.
pub(crate) fn host(log: &mut Log) -> anyhow::Result<String> {
    let host = log.read(process::command("rustc").args(["--print", "host-tuple"]))?;
    Ok(host.trim().to_owned())
}

/// Makes sure that the standard library for `triple` is there.
pub(crate) fn target(log: &mut Log, triple: &str) -> anyhow::Result<()> {
    let present = |log: &mut Log| -> anyhow::Result<bool> {
        let folder = log.read(process::command("rustc").args([
            "--print",
            "target-libdir",
            "--target",
            triple,
        ]))?;
        Ok(Path::new(folder.trim()).is_dir())
    };
    if present(log)? {
        return Ok(());
    }
    if process::exists("rustup") {
        log.say(&format!("adding the target {triple}"))?;
        if log
            .set_up(process::command("rustup").args(["target", "add", triple]))
            .is_ok()
            && present(log)?
        {
            return Ok(());
        }
    }
    Err(Unavailable(format!(
        "the target {triple} is missing; `rustup target add {triple}` adds it"
    ))
    .into())
}

/// Makes sure that `cargo COMMAND` is there, from the toolchain's component of that name.
pub(crate) fn component(log: &mut Log, command: &str, name: &str) -> anyhow::Result<()> {
    if log
        .output(process::cargo().args([command, "--version"]))?
        .status
        .success()
    {
        return Ok(());
    }
    log.say(&format!("adding the component {name}"))?;
    log.set_up(process::command("rustup").args(["component", "add", name]))
}
