//! What would be published, made in `target/package`.

pub(crate) mod crates;
mod flutter;
pub(crate) mod kotlin;
pub(crate) mod python;
pub(crate) mod sizes;
pub(crate) mod swift;
pub(crate) mod web;

use crate::{context::Context, log::Log};
use anyhow::Context as _;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Makes a package, and gives the folder, or the file, that it made.
type Make = fn(&Context, &mut Log) -> anyhow::Result<PathBuf>;

/// Every package.
const ALL: [(&str, &str, Make); 6] = [
    ("crates", "the crates", crates::make),
    (
        "python",
        "the Python wheel for this platform, stripped, and the source distribution",
        python::make,
    ),
    (
        "swift",
        "the Swift package: sources anywhere, the XCFramework on a Mac with Xcode",
        swift::make,
    ),
    (
        "flutter",
        "the Flutter plugin: with Linux's library on Linux, Android's with an NDK, Apple's on a Mac",
        flutter::make,
    ),
    (
        "kotlin",
        "the Maven package for the JVM, in a repository that is a folder",
        kotlin::make,
    ),
    ("web", "the npm package", web::make),
];

/// `cargo xtask package NAME`, or without a name what there is.
pub(crate) fn command(context: &Context, name: Option<&str>) -> anyhow::Result<()> {
    let Some(name) = name else {
        for (name, about, _) in ALL {
            println!("{name:<10} {about}");
        }
        return Ok(());
    };
    let package = ALL.iter().find(|(known, ..)| *known == name);
    let (_, _, make) = package.with_context(|| format!("there is no package `{name}`"))?;
    let mut log = Log::create(&context.scratch(), "package")?;
    let made = make(context, &mut log);
    match &made {
        Ok(made) => println!("made {}", made.display()),
        Err(_) => eprintln!("{}", log.tail(80)?),
    }
    made.map(drop)
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

/// A folder with nothing in it.
pub(crate) fn emptied(folder: PathBuf) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}
