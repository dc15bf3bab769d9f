//! The scripted provider as a program, for the suites of other languages.

use crate::{context::Context, log::Log, process};
use anyhow::Context as _;
use std::{
    env::consts::EXE_SUFFIX,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, Stdio},
};

const PROGRAM: &str = "mock-llm";

/// The variable that tells a suite where the program lies.
pub(crate) const VARIABLE: &str = "STEPWELL_MOCK_LLM";

/// Builds the program and says where it lies; suites take that of the workspace's build.
pub(crate) fn build(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    if context.in_suites {
        return context.program(log, PROGRAM);
    }
    log.build(
        process::cargo()
            .args(["build", "-p", "stepwell-mock-llm"])
            .current_dir(&context.root),
    )?;
    Ok(context.debug().join(format!("{PROGRAM}{EXE_SUFFIX}")))
}

/// The program, playing its script until it is dropped.
pub(crate) struct MockLlm {
    child: Child,
    base_url: String,
}

impl MockLlm {
    /// The address to give the app in its provider's place.
    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }
}

impl Drop for MockLlm {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Builds the program and starts it: with the secret numbers, or with this script in JSON.
pub(crate) fn start(
    context: &Context,
    log: &mut Log,
    script: Option<&str>,
) -> anyhow::Result<MockLlm> {
    let mut child = process::command(build(context, log)?)
        .args(script.map(|_| "-"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let (Some(script), Some(stdin)) = (script, &mut child.stdin) {
        writeln!(stdin, "{script}")?;
    }
    let stdout = child.stdout.take().context("no pipe to mock-llm")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let said: serde_json::Value = serde_json::from_str(&line)?;
    let base_url = said["base_url"].as_str();
    Ok(MockLlm {
        base_url: base_url.context("mock-llm says no address")?.to_owned(),
        child,
    })
}
