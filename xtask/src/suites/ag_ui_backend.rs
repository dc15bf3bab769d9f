use super::Suite;
use crate::{context::Context, log::Log, tools::venv::Venv};

pub(super) const SUITE: Suite = Suite {
    name: "ag-ui-backend",
    about: "the client against AG-UI backends that are not ours: Pydantic AI's, LangGraph's, Strands', ADK's and Agno's",
    run,
};

/// Where the tests find the Python; see `io/tests/ag_ui_backend`.
const VARIABLE: &str = "STEPWELL_AG_UI_PYTHON";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let requirements = context.root.join("tests/ag-ui-backend/requirements.txt");
    let venv = Venv::ensure(context, log, "venv-ag-ui-backend", &requirements)?;
    for program in context.integration_tests(log, "ag_ui_backend")? {
        let mut tests = program.command();
        tests.arg("--ignored");
        log.run(tests.env(VARIABLE, venv.python().get_program()))?;
    }
    Ok(())
}
