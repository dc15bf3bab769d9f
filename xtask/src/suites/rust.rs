use super::Suite;
use crate::{context::Context, process};
use std::process::Command;

pub(super) const SUITE: Suite = Suite {
    name: "rust",
    about: "every crate's unit, integration and documentation tests",
    run: |context, log| {
        let mut tests = process::cargo();
        tests.args(["test", "--workspace", "--no-fail-fast"]);
        log.run(tests.current_dir(&context.root))
    },
};

/// The integration tests of these names, of whatever crate.
///
/// Of the workspace, not of one package: other features would make another build of everything below.
pub(super) fn integration_tests(context: &Context, names: &[&str]) -> Command {
    let mut command = process::cargo();
    command
        .args(["test", "--workspace"])
        .current_dir(&context.root);
    for name in names {
        command.args(["--test", name]);
    }
    command
}
