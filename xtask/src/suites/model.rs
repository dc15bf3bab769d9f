use super::Suite;
use crate::{context::Context, log::Log, process};
use std::process::Command;

pub(super) const SUITE: Suite = Suite {
    name: "model",
    about: "the model checker: every order of events within bounds, a million states (core/docs/model-checker.md)",
    run: |context: &Context, log: &mut Log| log.run(&mut command(context, 1_000_000)),
};

/// The search, until it has seen so many distinct states.
pub(crate) fn command(context: &Context, states: u64) -> Command {
    let mut command = process::cargo();
    command
        .args(["test", "--release", "-p", "stepwell-core"])
        .args(["--features", "model-check", "--test", "model_check"])
        .args(["--", "--nocapture"])
        .env("STEPWELL_STATES", states.to_string())
        .current_dir(&context.root);
    command
}
