//! The crates, as cargo would publish them.

use crate::{context::Context, log::Log, process};
use std::{fs, path::PathBuf};

/// The crates that are published, each after those that it is built on.
pub(crate) const CRATES: [&str; 11] = [
    "stepwell-definitions",
    "stepwell-agui",
    "stepwell-llm",
    "stepwell-core",
    "stepwell-mock-llm",
    "stepwell-testing",
    "stepwell-macros",
    "stepwell-io",
    "stepwell-serve",
    "stepwell-demo",
    "stepwell",
];

pub(super) fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let packed = pack(context, log, &["--no-verify"])?;
    let folder = super::emptied(context.target.join("package/crates"))?;
    let version = context.version()?;
    for name in CRATES {
        let file = format!("{name}-{version}.crate");
        let bytes = fs::copy(packed.join(&file), folder.join(&file))?;
        log.say(&format!("{file}: {bytes} bytes"))?;
    }
    Ok(folder)
}

/// Packs the crates, and returns their folder. By default cargo then compiles each of them there.
pub(crate) fn pack(context: &Context, log: &mut Log, options: &[&str]) -> anyhow::Result<PathBuf> {
    let target = context.scratch().join("crates");
    let mut cargo = process::cargo();
    cargo.args(["package", "--allow-dirty", "--target-dir"]);
    cargo.arg(&target).args(options);
    cargo.args(CRATES.iter().flat_map(|name| ["--package", name]));
    log.run(cargo.current_dir(&context.root))?;
    Ok(target.join("package"))
}
