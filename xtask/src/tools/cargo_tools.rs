use crate::{context::Context, log::Log, process};
use std::{env::consts::EXE_SUFFIX, path::PathBuf};

/// A program of cargo's registry, built when it is not there yet.
pub(crate) fn installed(context: &Context, log: &mut Log, name: &str) -> anyhow::Result<PathBuf> {
    let root = context.scratch().join("tools");
    let program = root.join(format!("bin/{name}{EXE_SUFFIX}"));
    if !program.is_file() {
        log.say(&format!("building {name}"))?;
        log.run(
            process::cargo()
                .args(["install", name, "--locked", "--root"])
                .arg(&root)
                .env_remove("CARGO_TARGET_DIR"),
        )?;
    }
    Ok(program)
}
