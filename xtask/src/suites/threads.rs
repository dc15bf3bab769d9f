use super::Suite;
use crate::{context::Context, log::Log, workspace::TestProgram};
use anyhow::Context as _;
use std::process::Command;

pub(super) const SUITE: Suite = Suite {
    name: "threads",
    about: "the shared registry under every order of its threads' steps, and faulty ones found (shuttle)",
    run: |context, log| {
        let mut tests = tests(context, log)?;
        log.run(&mut tests)
    },
};

/// The tests of `core/tests/interleavings`.
pub(crate) fn tests(context: &Context, log: &mut Log) -> anyhow::Result<Command> {
    let programs = context.integration_tests(log, "interleavings")?;
    let tests = programs
        .first()
        .map(|program| TestProgram::command(program));
    tests.context("the interleavings are no test program")
}
