use super::Suite;
use crate::context::Context;
use crate::{log::Log, process, tools::npm};
use anyhow::ensure;

pub(super) const SUITE: Suite = Suite {
    name: "mcp",
    about: "MCP tools against the reference server, over standard input and output and over HTTP",
    run,
};

/// Where the tests find the server; see `io/tests/mcp/reference.rs`.
const VARIABLE: &str = "STEPWELL_MCP_REFERENCE";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("tests/mcp-reference");
    npm::ensure(log, &project)?;
    let program =
        project.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    ensure!(program.exists(), "the package has no {}", program.display());
    for tests in context.integration_tests(log, "mcp")? {
        let mut tests = tests.command();
        tests.arg("reference::");
        log.run(tests.env(VARIABLE, &program))?;
    }
    let tree = log.read(process::cargo().current_dir(&context.root).args([
        "tree",
        "-p",
        "stepwell-core",
        "-p",
        "stepwell-ffi",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ]))?;
    ensure!(
        !tree.lines().any(|line| line.starts_with("rmcp ")),
        "the core or the bindings depend on the MCP SDK"
    );
    log.say("neither the core nor the bindings depend on the MCP SDK")
}
