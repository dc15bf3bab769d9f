use super::Suite;
use crate::{context::Context, log::Log, tools::npm};

pub(super) const SUITE: Suite = Suite {
    name: "ag-ui-oracle",
    about: "2,000 random event sequences have the verdict of the official AG-UI client, and events its binary form",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let oracle = context.root.join("tests/ag-ui-oracle");
    npm::ensure(log, &oracle)?;
    for program in context.integration_tests(log, "ag_ui")? {
        let mut tests = program.command();
        tests.args(["order::oracle", "--nocapture"]);
        log.run(tests.env("STEPWELL_AG_UI_ORACLE", oracle.join("oracle.mjs")))?;
    }
    Ok(())
}
