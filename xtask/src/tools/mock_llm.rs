//! The scripted provider as a program, for the suites of other languages.

use crate::{
    context::Context,
    log::Log,
    process::{self, Background},
};
use anyhow::Context as _;
use std::{env::consts::EXE_SUFFIX, path::PathBuf};

const PROGRAM: &str = "mock-llm";

/// The variable with the program's path, for a suite.
pub(crate) const VARIABLE: &str = "STEPWELL_MOCK_LLM";

/// Builds the program and returns its path; suites take that of the workspace's build.
pub(crate) fn build(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    if context.in_suites {
        return context.program(log, PROGRAM);
    }
    let mut cargo = process::cargo();
    cargo.args(["build", "-p", "stepwell-mock-llm"]);
    log.build(cargo.current_dir(&context.root))?;
    Ok(context.debug().join(format!("{PROGRAM}{EXE_SUFFIX}")))
}

/// The program, playing its script until it is dropped.
pub(crate) struct MockLlm {
    base_url: String,
    _running: Background,
}

impl MockLlm {
    /// The address to give the app in its provider's place.
    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }
}

/// Builds the program and starts it: with the secret numbers, or with this script in JSON.
pub(crate) fn start(
    context: &Context,
    log: &mut Log,
    script: Option<&str>,
) -> anyhow::Result<MockLlm> {
    let mut program = process::command(build(context, log)?);
    program.args(script.map(|_| "-"));
    let script = format!("{}\n", script.unwrap_or_default());
    let (running, said) = Background::start_with(&mut program, &script, "base_url")?;
    let said: serde_json::Value = serde_json::from_str(&said)?;
    let base_url = said["base_url"].as_str();
    Ok(MockLlm {
        base_url: base_url.context("mock-llm says no address")?.to_owned(),
        _running: running,
    })
}
