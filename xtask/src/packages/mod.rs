//! What would be published, made in `target/package`.

pub(crate) mod crates;
mod flutter;
pub(crate) mod kotlin;
pub(crate) mod python;
pub(crate) mod sizes;
pub(crate) mod swift;
pub(crate) mod web;

use crate::{context::Context, log::Log};
use anyhow::{Context as _, bail};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A package: `make` gives the folder, or the file, that it made.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) make: fn(&Context, &mut Log) -> anyhow::Result<PathBuf>,
}

/// Every package.
pub(crate) const ALL: &[Package] = &[
    crates::PACKAGE,
    python::PACKAGE,
    swift::PACKAGE,
    flutter::PACKAGE,
    kotlin::PACKAGE,
    web::PACKAGE,
    sizes::PACKAGE,
];

/// `cargo xtask package NAME`, or without a name what there is.
pub(crate) fn command(context: &Context, name: Option<&str>) -> anyhow::Result<()> {
    let Some(name) = name else {
        for package in ALL {
            println!("{:<10} {}", package.name, package.about);
        }
        return Ok(());
    };
    let Some(package) = ALL.iter().find(|package| package.name == name) else {
        let known: Vec<_> = ALL.iter().map(|package| package.name).collect();
        bail!(
            "there is no package `{name}`; there are: {}",
            known.join(", ")
        );
    };
    let mut log = Log::create(&context.scratch(), "package")?;
    match (package.make)(context, &mut log) {
        Ok(made) => {
            println!("made {}", made.display());
            Ok(())
        }
        Err(error) => {
            eprintln!("{}", log.tail(80)?);
            Err(error)
        }
    }
}

/// Copies a file, or a folder with all that is in it.
pub(crate) fn copied(from: &Path, to: &Path) -> anyhow::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copied(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}
