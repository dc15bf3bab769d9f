//! The long proofs: the property tests with many more cases, and the model checker with many more states, than a test
//! run takes.

use crate::{context::Context, process, suites};
use anyhow::bail;

/// Runs the tests of every crate with `cases` cases for each property, in release with the debug assertions on, and
/// then the model checker up to `states` states.
pub(crate) fn run(context: &Context, cases: u32, states: u64) -> anyhow::Result<()> {
    println!("proofs: the property tests, {cases} cases each");
    let mut command = process::cargo();
    command
        .args([
            "test",
            "--release",
            "--workspace",
            "--exclude",
            "xtask",
            "--lib",
            "--tests",
        ])
        .current_dir(&context.root)
        .env("PROPTEST_CASES", cases.to_string())
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        // Kept apart, so that a release build made for use is not one with assertions.
        .env("CARGO_TARGET_DIR", context.target.join("prove"));
    let status = command.status()?;
    if !status.success() {
        bail!("a proof failed: {status}");
    }
    println!("proofs: the model checker, {states} states");
    let status = suites::model::command(context, states).status()?;
    if !status.success() {
        bail!("the model checker failed: {status}");
    }
    Ok(())
}
