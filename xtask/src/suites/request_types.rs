use super::Suite;
use crate::{context::Context, log::Log, process, tools::venv::Venv};
use anyhow::ensure;
use std::fs;

pub(super) const SUITE: Suite = Suite {
    name: "request-types",
    about: "the requests of all scenarios, and of every pair of providers, against the types of the providers' own \
            packages for Python; spoilt ones are refused",
    run,
};

/// Writes requests; see `core/tests/dialects/legal/matrix.rs`.
const WRITER: &str = "legal::matrix::requests_for_the_providers_own_types";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("tests/request-types");
    let requirements = project.join("requirements.txt");
    let venv = Venv::ensure(context, log, "venv-request-types", &requirements)?;
    let requests = context.scratch().join("requests.jsonl");
    for program in context.integration_tests(log, "dialects")? {
        let mut writer = program.command();
        writer.args(["--ignored", "--exact", WRITER]);
        log.run(writer.env("STEPWELL_REQUESTS", &requests))?;
    }
    let mut validator = process::command(venv.python().get_program());
    validator
        .arg("validator.py")
        .arg(&requests)
        .current_dir(&project);
    for entry in fs::read_dir(context.root.join("tests/scenarios"))? {
        let file = entry?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            validator.arg(file);
        }
    }
    let checked = log.output(&mut validator)?;
    for line in String::from_utf8_lossy(&checked.stdout).lines() {
        log.say(line)?;
    }
    ensure!(
        checked.status.success(),
        "a request is not what its provider takes"
    );
    Ok(())
}
