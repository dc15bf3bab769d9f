//! The checks of the workspace by Rust's own tools.

use super::Suite;
use crate::{context::Context, features, log::Log, process, tools::rustup, workspace};
use std::fs;

pub(super) const FORMAT: Suite = Suite {
    name: "format",
    about: "all Rust code is as rustfmt writes it",
    run: |context, log| {
        rustup::component(log, "fmt", "rustfmt")?;
        let mut fmt = process::cargo();
        fmt.args(["fmt", "--all", "--check", "--", "--color", "never"]);
        log.run(fmt.current_dir(&context.root))
    },
};

pub(super) const CLIPPY: Suite = Suite {
    name: "clippy",
    about: "the workspace compiles without a warning, Clippy's and rustdoc's among them; the core's own code uses no clock, file, \
            socket, thread or random number (core/clippy.toml)",
    // The build's compiler is `linter.sh`.
    run: |context, log| context.build(log).map(|_| ()),
};

pub(super) const RUST: Suite = Suite {
    name: "rust",
    about: "`cargo test`: every crate's unit, integration and documentation tests; and an app outside the workspace with \
            invariants of its own (examples/invariants)",
    run: |context, log| {
        // The compiled files are there.
        context.build(log)?;
        let mut tests = workspace::linting_cargo(context);
        tests.args(["test", "--workspace", "--no-fail-fast"]);
        log.run_tests(tests.args(workspace::FEATURES))?;
        let passed = log.tests_passed()?;
        log.say(&format!("{passed} tests passed"))?;
        outside(context, log)
    },
};

/// The cases that each property of the app outside is tried with.
const OUTSIDE_CASES: &str = "16";

/// Tests the app outside the workspace, with the workspace's versions of the crates of others.
fn outside(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let folder = context.root.join("examples/invariants");
    fs::copy(context.root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let mut tests = process::cargo();
    tests.args(["test", "--target-dir"]).arg(&context.target);
    tests.env("PROPTEST_CASES", OUTSIDE_CASES);
    log.run(tests.current_dir(folder))
}

pub(super) const FEATURES: Suite = Suite {
    name: "features",
    about: "each language has what Rust's agent can, or docs/features.md says why not",
    run: features::check,
};
