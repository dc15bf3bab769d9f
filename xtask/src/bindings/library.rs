//! The library that every language loads, and the generator that reads it.

use crate::{context::Context, log::Log, process};
use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX},
    path::{Path, PathBuf},
    process::Command,
};

const PACKAGE: &str = "stepwell-ffi";

/// A built library with the generator of the same version.
pub(super) struct Library {
    /// The dynamic library.
    pub(super) path: PathBuf,
    generator: PathBuf,
    root: PathBuf,
}

impl Library {
    /// Builds the library and the generator in the dev profile; suites take those of the workspace's build.
    pub(super) fn build(context: &Context, log: &mut Log) -> anyhow::Result<Self> {
        if context.in_suites {
            context.build(log)?;
        } else {
            // With the server's database, which Python's wheel has: what is hidden from other languages is compared with it.
            log.build(
                process::cargo()
                    .args(["build", "-p", PACKAGE, "--lib", "--bins"])
                    .args(["--features", "aws,bindgen,postgres"])
                    .current_dir(&context.root),
            )?;
        }
        let programs = context.debug();
        Ok(Self {
            path: programs.join(format!("{DLL_PREFIX}stepwell_ffi{DLL_SUFFIX}")),
            generator: programs.join(format!("uniffi-bindgen{EXE_SUFFIX}")),
            root: context.root.clone(),
        })
    }

    /// Writes a language's sources into a folder.
    pub(super) fn write(&self, log: &mut Log, language: &str, folder: &Path) -> anyhow::Result<()> {
        log.run(self.generator().arg(language).arg(&self.path).arg(folder))
    }

    /// Writes Python's sources, by the arguments that maturin gives.
    pub(super) fn write_python(&self, log: &mut Log, folder: &Path) -> anyhow::Result<()> {
        log.run(
            self.generator()
                .args([
                    "generate",
                    "--no-format",
                    "--language",
                    "python",
                    "--out-dir",
                ])
                .arg(folder)
                .arg("--library")
                .arg(&self.path),
        )
    }

    fn generator(&self) -> Command {
        let mut command = process::command(&self.generator);
        command.current_dir(&self.root);
        command
    }
}

/// Empties a folder of generated files.
pub(super) fn empty(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(std::fs::create_dir_all(folder)?)
}
