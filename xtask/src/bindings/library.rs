//! The library that every language loads, and the generators that read it.

use crate::{context::Context, log::Log, process};
use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX},
    path::{Path, PathBuf},
    process::Command,
};

const PACKAGE: &str = "stepwell-ffi";

/// Generates Kotlin and Python, and the shapes of all languages.
pub(crate) const GENERATOR: &str = "uniffi-bindgen";
/// Generates Swift.
pub(crate) const SWIFT_GENERATOR: &str = "uniffi-bindgen-swift";

/// A built library with generators of the same version.
pub(crate) struct Library {
    /// The dynamic library.
    pub(crate) path: PathBuf,
    programs: PathBuf,
    root: PathBuf,
}

impl Library {
    /// Builds the library and the generators in the dev profile; suites take those of the workspace's build.
    pub(crate) fn build(context: &Context, log: &mut Log) -> anyhow::Result<Self> {
        if context.in_suites {
            context.build(log)?;
        } else {
            log.build(
                process::cargo()
                    .args(["build", "-p", PACKAGE, "--lib", "--bins"])
                    .args(["--features", "bindgen"])
                    .current_dir(&context.root),
            )?;
        }
        Ok(Self::built(context))
    }

    /// What has been built already.
    pub(crate) fn built(context: &Context) -> Self {
        Self {
            path: context
                .debug()
                .join(format!("{DLL_PREFIX}stepwell_ffi{DLL_SUFFIX}")),
            programs: context.debug(),
            root: context.root.clone(),
        }
    }

    /// A generator, in the repository's root.
    pub(crate) fn generator(&self, name: &str) -> Command {
        let mut command = process::command(self.programs.join(format!("{name}{EXE_SUFFIX}")));
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
            self.generator(GENERATOR)
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
