use super::Suite;
use crate::{context::Context, process};
use std::process::Command;

pub(super) const SUITE: Suite = Suite {
    name: "threads",
    about: "the shared registry under every order of its threads' steps, and faulty ones found (shuttle)",
    run: |context, log| log.run(&mut tests(context, &[])),
};

/// The tests behind `cfg(stepwell_threads)`.
pub(crate) fn tests(context: &Context, arguments: &[&str]) -> Command {
    let mut command = process::cargo();
    command
        .args(["test", "-p", "stepwell-core", "--lib", "--"])
        .arg("registry::interleavings")
        .args(arguments)
        .current_dir(&context.root)
        .env("RUSTFLAGS", "--cfg stepwell_threads")
        // Other flags make other builds: the common ones stay as they are.
        .env("CARGO_TARGET_DIR", context.target.join("threads"));
    command
}
