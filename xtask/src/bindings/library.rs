//! The library that every language loads, and the generators that read it.

use crate::{context::Context, log::Log, process};
use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX},
    path::{Path, PathBuf},
    process::Command,
};

const PACKAGE: &str = "stepwell-ffi";

/// A built library with a generator of the same version.
pub(crate) struct Library {
    /// The dynamic library.
    pub(crate) path: PathBuf,
    generator: PathBuf,
    root: PathBuf,
}

impl Library {
    /// Builds the library and the generator named `generator` in the dev profile; suites take those of the workspace's
    /// build.
    pub(crate) fn build(context: &Context, log: &mut Log, generator: &str) -> anyhow::Result<Self> {
        if context.in_suites {
            context.build(log)?;
        } else {
            log.build(
                process::cargo()
                    .args(["build", "-p", PACKAGE, "--lib", "--bin", generator])
                    .args(["--features", "bindgen"])
                    .current_dir(&context.root),
            )?;
        }
        Ok(Self {
            path: context
                .debug()
                .join(format!("{DLL_PREFIX}stepwell_ffi{DLL_SUFFIX}")),
            generator: context.debug().join(format!("{generator}{EXE_SUFFIX}")),
            root: context.root.clone(),
        })
    }

    /// The generator, in the repository's root.
    pub(crate) fn generator(&self) -> Command {
        let mut command = process::command(&self.generator);
        command.current_dir(&self.root);
        command
    }

    /// Generates one language's files into `folder`.
    pub(crate) fn generate(
        &self,
        log: &mut Log,
        language: &str,
        folder: &Path,
    ) -> anyhow::Result<()> {
        log.run(
            self.generator()
                .args([
                    "generate",
                    "--config",
                    "uniffi.toml",
                    "--no-format",
                    "--language",
                    language,
                ])
                .arg("--out-dir")
                .arg(folder)
                .arg(&self.path),
        )
    }
}

/// Empties a folder of generated files.
pub(crate) fn empty(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(std::fs::create_dir_all(folder)?)
}
