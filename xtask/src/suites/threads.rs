use super::Suite;
use crate::{
    context::Context,
    faults::{self, Faulty},
    log::Log,
    workspace::TestProgram,
};
use anyhow::Context as _;
use std::process::Command;

pub(super) const SUITE: Suite = Suite {
    name: "threads",
    about: "the tests of the shared registry under every order of its threads' steps (shuttle) find faulty ones",
    run: faults_are_found,
};

/// Runs them with each fault of the registry.
pub(crate) fn faults_are_found(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let trials = Faulty::built(context, log)?.trials(faults::REGISTRY, "interleavings")?;
    for trial in &trials {
        trial.is_found(log, &[], &[])?;
    }
    log.say(&format!("{} faults found", trials.len()))
}

/// The tests of `tests/model/tests/interleavings`.
pub(crate) fn tests(context: &Context, log: &mut Log) -> anyhow::Result<Command> {
    let programs = context.integration_tests(log, "interleavings")?;
    let tests = programs
        .first()
        .map(|program| TestProgram::command(program));
    tests.context("the interleavings are no test program")
}
