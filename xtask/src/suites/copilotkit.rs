use super::{Suite, ag_ui_server::Server};
use crate::{context::Context, log::Log, process, tools::npm};

pub(super) const SUITE: Suite = Suite {
    name: "copilotkit",
    about: "CopilotKit's runtime in front of `stepwell serve`",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("tests/ag-ui-copilotkit");
    npm::ensure(log, &project)?;
    let program = context.program(log, "stepwell")?;
    let server = Server::start(&program)?;
    log.run(
        process::command("node")
            .arg("runtime.mjs")
            .arg(&server.url)
            .envs([
                ("DO_NOT_TRACK", "1"),
                ("COPILOTKIT_TELEMETRY_DISABLED", "true"),
            ])
            .current_dir(&project),
    )
}
