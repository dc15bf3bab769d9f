//! The scripted provider as a program, for the suites of other languages.

use crate::{context::Context, log::Log, process};
use std::{env::consts::EXE_SUFFIX, path::PathBuf};

const PACKAGE: &str = "stepwell-mock-llm";

/// The variable that tells a suite where the program lies.
pub(crate) const VARIABLE: &str = "STEPWELL_MOCK_LLM";

/// Builds the program and says where it lies; nothing if the package has no program of its name.
pub(crate) fn build(context: &Context, log: &mut Log) -> anyhow::Result<Option<PathBuf>> {
    let has_program = context
        .workspace
        .packages
        .iter()
        .filter(|package| package.name == PACKAGE)
        .flat_map(|package| &package.targets)
        .any(|target| target.is_bin() && target.name == PACKAGE);
    if !has_program {
        return Ok(None);
    }
    log.run(
        process::cargo()
            .args(["build", "-p", PACKAGE, "--bin", PACKAGE])
            .current_dir(&context.root),
    )?;
    Ok(Some(context.debug().join(format!("{PACKAGE}{EXE_SUFFIX}"))))
}
