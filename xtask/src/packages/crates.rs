//! The crates, as cargo would publish them.

use super::Package;
use crate::{context::Context, log::Log, process};
use std::{
    fs,
    path::{Path, PathBuf},
};

pub(super) const PACKAGE: Package = Package {
    name: "crates",
    about: "the crates",
    make,
};

/// The crates that are published, each after those that it is built on.
pub(crate) const CRATES: &[&str] = &[
    "stepwell-core",
    "stepwell-mock-llm",
    "stepwell-macros",
    "stepwell-io",
    "stepwell-axum",
    "stepwell-demo",
    "stepwell",
];

fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let folder = context.target.join("package/crates");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let version = context.version()?;
    let packed = pack(context, log)?;
    for name in CRATES {
        let file = format!("{name}-{version}.crate");
        let copy = folder.join(&file);
        fs::copy(packed.join(&file), &copy)?;
        log.say(&format!("{file}: {} bytes", fs::metadata(&copy)?.len()))?;
    }
    Ok(folder)
}

/// Packs them, and gives the folder of a registry with nothing but them: `NAME-VERSION.crate`, and `index`.
pub(crate) fn pack(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let target = context.scratch().join("crates");
    let mut cargo = process::cargo();
    // They depend on each other, so none is compiled before the others are there.
    cargo
        .args(["package", "--no-verify", "--allow-dirty", "--target-dir"])
        .arg(&target);
    for name in CRATES {
        cargo.args(["--package", name]);
    }
    log.set_up(cargo.current_dir(&context.root))?;
    Ok(target.join("package/tmp-registry"))
}

/// Where a registry's index has a crate: <https://doc.rust-lang.org/cargo/reference/registry-index.html#index-files>.
pub(crate) fn index_file(index: &Path, name: &str) -> PathBuf {
    // None of ours has a name of three letters or less.
    index.join(&name[..2]).join(&name[2..4]).join(name)
}
