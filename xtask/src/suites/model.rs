use super::Suite;
use crate::{
    context::Context,
    log::Log,
    workspace::{self, TestProgram},
};
use std::process::Command;

pub(super) const SUITE: Suite = Suite {
    name: "model",
    about: "the model checker: every order of events within bounds, a share of the states (core/docs/model-checker.md)",
    run: |context, log| {
        let mut search = command(context, log, STATES)?;
        log.run(&mut search)
    },
};

/// Distinct states within the large bounds. All of the small bounds are searched besides, and there every seeded fault
/// shows within 7,000.
const STATES: u64 = 50_000;

/// The search, until it has seen so many distinct states.
pub(crate) fn command(context: &Context, log: &mut Log, states: u64) -> anyhow::Result<Command> {
    // What is compiled for the checker alone is linted here.
    let mut cargo = workspace::linting_cargo(context)?;
    cargo
        .args(["test", "--no-run", "--release", "-p", "stepwell-model"])
        .args(["--features", "search"]);
    let programs = workspace::programs(log, &mut cargo)?;
    let program = programs.first().map(TestProgram::command);
    let mut search = anyhow::Context::context(program, "the model checker is no test program")?;
    search
        .arg("--nocapture")
        .env("STEPWELL_STATES", states.to_string());
    Ok(search)
}
