use super::Suite;
use crate::{
    context::Context,
    log::Log,
    process,
    tools::{Unavailable, venv::Venv},
};
use anyhow::ensure;
use std::fs;

pub(super) const SUITE: Suite = Suite {
    name: "workflows",
    about: "GitHub's workflows are what actionlint takes for sound, the Containerfile what hadolint does, and what deploys them what \
            the schemas of Compose and Kubernetes do",
    run,
};

const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

/// The checks and their files, in one line each.
const CHECKS: [&str; 3] = [
    "hadolint Containerfile",
    "check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml",
    "kubernetes-validate --strict deploy/kubernetes/restate.yaml deploy/kubernetes/stepwell.yaml",
];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let pinned = context.root.join("xtask/requirements-checks.txt");
    let tools = Venv::ensure(context, log, "venv-checks", &pinned)?;
    let settings = fs::read_to_string(context.root.join("docs/guides/settings.md"))?;
    for line in CHECKS {
        let mut words = line.split(' ');
        let mut tool = tools.program(words.next().unwrap_or_default());
        log.run(tool.args(words.clone()).current_dir(&context.root))?;
        for file in words.filter(|word| word.ends_with(".yaml")) {
            let text = fs::read_to_string(context.root.join(file))?;
            let mut words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_');
            let is_known = |word: &str| settings.contains(&format!("`{word}`"));
            let unknown = words.find(|word| word.starts_with("STEPWELL_") && !is_known(word));
            ensure!(unknown.is_none(), "{unknown:?} in {file} is no setting");
        }
    }
    // The check is a program of Go's, which has no `--version`.
    if !process::succeeds(process::command("go").arg("version")) {
        return Err(Unavailable("there is no Go here to run actionlint with".to_owned()).into());
    }
    // The workflows' scripts are looked at only where shellcheck happens to be.
    let mut go = process::command("go");
    go.args(["run", ACTIONLINT, "-shellcheck=", "-pyflakes="]);
    log.run(go.current_dir(&context.root))
}
