use super::Suite;
use crate::{
    context::Context,
    faults::{self, Faulty},
    log::Log,
};

pub(super) const SUITE: Suite = Suite {
    name: "threads",
    about: "the tests of the shared registry under every order of its threads' steps (shuttle) find faulty ones",
    run: faults_are_found,
};

/// Runs the tests with each fault of the registry.
pub(crate) fn faults_are_found(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let tests =
        Faulty::built(context, log)?.commands(context, faults::REGISTRY, "interleavings")?;
    faults::are_found(log, tests, &[])
}
