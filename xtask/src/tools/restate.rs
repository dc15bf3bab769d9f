//! Restate's server, from its package of npm. The tests start it: with listeners on loopback alone, and without telemetry.

use super::{Unavailable, npm};
use crate::{context::Context, log::Log};
use anyhow::ensure;
use std::{
    env::consts::{ARCH, OS},
    path::PathBuf,
};

/// The variable with the program's path, for the tests.
pub(crate) const VARIABLE: &str = "STEPWELL_RESTATE_SERVER";

/// The program of this machine.
pub(crate) fn program(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let system = match (OS, ARCH) {
        ("linux", "x86_64") => "linux-x64",
        ("linux", "aarch64") => "linux-arm64",
        ("macos", "x86_64") => "darwin-x64",
        ("macos", "aarch64") => "darwin-arm64",
        _ => return Err(Unavailable(format!("Restate has no server for {OS} on {ARCH}")).into()),
    };
    let project = context.root.join("tests/restate");
    npm::ensure(log, &project)?;
    let package = format!("node_modules/@restatedev/restate-server-{system}");
    let program = project.join(package).join("bin/restate-server");
    ensure!(
        program.exists(),
        "npm has not installed {}",
        program.display()
    );
    Ok(program)
}
