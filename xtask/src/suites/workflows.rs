use super::Suite;
use crate::{
    context::Context,
    log::Log,
    process,
    tools::{Unavailable, venv::Venv},
};
use anyhow::{Context as _, ensure};
use std::{env::consts::EXE_SUFFIX, fs};

pub(super) const SUITE: Suite = Suite {
    name: "workflows",
    about: "GitHub's workflows are what actionlint takes for sound, and the Containerfile what hadolint does",
    run,
};

const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let folder = context.scratch().join("tools/actionlint-1.7.12");
    let program = folder.join(format!("actionlint{EXE_SUFFIX}"));
    if !program.is_file() {
        // It is a program of Go's, which has no `--version`.
        if log.read(process::command("go").arg("version")).is_err() {
            return Err(
                Unavailable("there is no Go here to build actionlint with".to_owned()).into(),
            );
        }
        fs::create_dir_all(&folder)?;
        log.say("building actionlint")?;
        log.run(
            process::command("go")
                .args(["install", ACTIONLINT])
                .env("GOBIN", &folder),
        )?;
    }
    let workflows = context.root.join(".github/workflows");
    let files = fs::read_dir(&workflows)
        .with_context(|| format!("cannot read {}", workflows.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(!files.is_empty(), "there are no workflows");
    log.run(
        process::command(program)
            // Their scripts are looked at only where shellcheck happens to be.
            .args(["-shellcheck=", "-pyflakes="])
            .args(&files)
            .current_dir(&context.root),
    )?;
    let tools = Venv::ensure(
        context,
        log,
        "venv-hadolint",
        &context.root.join("xtask/requirements-hadolint.txt"),
    )?;
    log.run(
        tools
            .program("hadolint")
            .arg("Containerfile")
            .current_dir(&context.root),
    )?;
    log.say(&format!("{} workflows, and the Containerfile", files.len()))
}
