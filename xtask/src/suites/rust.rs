use super::Suite;
use crate::{context::Context, log::Log, workspace};
use anyhow::bail;

pub(super) const SUITE: Suite = Suite {
    name: "rust",
    about: "every crate's unit, integration and documentation tests",
    run,
};

/// Tests that are a suite of their own.
const OF_OTHERS: &[&str] = &["interleavings"];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    let programs = context.build(log)?;
    for program in programs
        .iter()
        .filter(|program| !OF_OTHERS.contains(&program.name.as_str()))
    {
        if let Err(error) = log.run_tests(&mut program.command()) {
            failed.push(format!("{} of {}: {error}", program.name, program.package));
        }
    }
    // What the build has compiled, cargo finds done if it is asked in the same way.
    let mut examples = workspace::linting_cargo(context)?;
    if log
        .build(
            examples
                .args(["test", "--workspace", "--doc"])
                .args(workspace::FEATURES),
        )
        .is_err()
    {
        failed.push("documentation".to_owned());
    }
    let passed = log.tests_passed()?;
    log.say(&format!("{passed} tests passed"))?;
    if !failed.is_empty() {
        bail!("failed: {}", failed.join("; "));
    }
    Ok(())
}
