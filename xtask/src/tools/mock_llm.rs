//! The scripted provider as a program, for the suites of other languages.

use crate::{context::Context, log::Log, process};
use std::{env::consts::EXE_SUFFIX, path::PathBuf};

const PACKAGE: &str = "stepwell-mock-llm";
const PROGRAM: &str = "mock-llm";

/// The variable that tells a suite where the program lies.
pub(crate) const VARIABLE: &str = "STEPWELL_MOCK_LLM";

/// Builds the program and says where it lies.
pub(crate) fn build(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    log.run(
        process::cargo()
            .args(["build", "-p", PACKAGE, "--bin", PROGRAM])
            .current_dir(&context.root),
    )?;
    Ok(context.debug().join(format!("{PROGRAM}{EXE_SUFFIX}")))
}
