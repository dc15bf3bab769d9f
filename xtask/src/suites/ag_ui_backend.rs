use super::Suite;
use crate::{context::Context, log::Log, process, tools::venv::Venv};

pub(super) const SUITE: Suite = Suite {
    name: "ag-ui-backend",
    about: "the client against an AG-UI backend that is not ours, Pydantic AI's",
    run,
};

/// Where the tests find the Python; see `io/tests/ag_ui_backend.rs`.
const VARIABLE: &str = "STEPWELL_AG_UI_PYTHON";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let requirements = context.root.join("tests/ag-ui-backend/requirements.txt");
    let venv = Venv::ensure(context, log, "venv-ag-ui-backend", &requirements)?;
    log.run(
        process::cargo()
            // The same build as that of the suite `mcp`.
            .args(["test", "-p", "stepwell-io", "--features", "mcp"])
            .args(["--test", "ag_ui_backend", "--", "--ignored"])
            .env(VARIABLE, venv.python().get_program())
            .current_dir(&context.root),
    )
}
