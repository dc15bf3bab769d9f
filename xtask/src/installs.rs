//! Installs each package as a new user would: built as it would be published, installed as its page describes, in an
//! empty home folder; then the first program runs with it.

use crate::{
    context::Context,
    log::Log,
    packages::{
        copied,
        crates::{self, CRATES},
        kotlin, python, swift, web,
    },
    pages::steps::Trial,
    process,
    suites::swift_package,
    tools::{
        Unavailable, mock_llm,
        swift::{OLDEST, Swift},
    },
};
use anyhow::{Context as _, ensure};
use std::fs;

type Install = fn(&Context, &mut Log) -> anyhow::Result<String>;

const INSTALLS: &[(&str, Install)] = &[
    ("cargo", with_cargo),
    ("pip", with_pip),
    ("npm", with_npm),
    ("maven", with_maven),
    ("swift", with_swift),
];

/// The final text of the first programs' model.
const ANSWER: &str = "Alice's number is 42, Bob's is 7";

/// Makes every package, or only that of a name, and tries it. One that fails does not stop the next.
pub(crate) fn all(context: &Context, log: &mut Log, only: Option<&str>) -> anyhow::Result<String> {
    let (mut done, mut failed) = (0, Vec::new());
    for (name, install) in INSTALLS {
        if only.is_some_and(|only| only != *name) {
            continue;
        }
        match install(context, log) {
            Ok(took) => {
                done += 1;
                log.say(&format!("{name}:\n{took}"))?;
            }
            Err(error) => match error.downcast_ref() {
                Some(Unavailable(reason)) => log.say(&format!("{name} is left out: {reason}"))?,
                None => failed.push(format!("{name}: {error:#}")),
            },
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    ensure!(done > 0, "nothing was installed");
    Ok(format!("{done} first programs ran"))
}

/// Cargo compiles each crate as it was packed, with the others, which are on no registry: here they are patches of it.
fn with_cargo(context: &Context, log: &mut Log) -> anyhow::Result<String> {
    let folder = crates::pack(context, log, &[])?;
    let version = context.version()?;
    let at = |name: &str| {
        folder
            .join(format!("{name}-{version}"))
            .display()
            .to_string()
    };
    let patches = folder.join("patches.toml");
    let lines = CRATES.map(|name| format!("{name} = {{ path = '{}' }}\n", at(name)));
    fs::write(&patches, format!("[patch.crates-io]\n{}", lines.concat()))?;
    let cargo = format!("cargo --config '{}'", patches.display());
    let (io, model, program) = (at("stepwell-io"), at("stepwell-mock-llm"), at("stepwell"));
    let mut trial = Trial::new("docs/rust.md", &context.root);
    trial.registry = Some("crates");
    trial.instead = vec![
        (
            "cargo add stepwell-io stepwell-mock-llm",
            format!("{cargo} add --path '{io}' && {cargo} add --path '{model}' && {cargo} add"),
        ),
        ("cargo", cargo),
    ];
    let target = context.scratch().join("installs");
    trial.variables = vec![("CARGO_TARGET_DIR", target.display().to_string())];
    trial.then = format!(
        "```console\n$ cargo install --path '{program}' --root \"$HOME\"\n$ \"$HOME/bin/stepwell\" demo --json\n…{ANSWER}…\n```\n"
    );
    trial.run(context, log)
}

/// From a folder alone, so that nothing else can come with it; the notebook's code runs as well.
fn with_pip(context: &Context, log: &mut Log) -> anyhow::Result<String> {
    let wheel = python::shipped(context, log)?;
    let folder = wheel.parent().context("the wheel is in no folder")?;
    let mut trial = Trial::new("docs/python.md", &context.root);
    trial.registry = Some("pypi");
    trial.variables = vec![
        ("PIP_FIND_LINKS", folder.display().to_string()),
        ("PIP_NO_INDEX", "1".to_owned()),
    ];
    trial.then = "```console\n$ .venv/bin/python stepwell/bindings/python/tests/run_notebook.py stepwell/examples/notebook.ipynb\n…✓ get_weather…\n```\n".to_owned();
    trial.run(context, log)
}

fn with_npm(context: &Context, log: &mut Log) -> anyhow::Result<String> {
    let package = web::make(context, log)?;
    let model = mock_llm::build(context, log)?;
    let folder = context.scratch();
    let mut pack = process::command("npm");
    pack.args(["pack", "--silent"]).arg(package);
    let packed = log.read(pack.current_dir(&folder))?;
    let packed = folder.join(packed.trim());
    let mut trial = Trial::new("bindings/web/README.md", &context.root);
    trial.registry = Some("npm");
    trial.instead = vec![(
        "npm install stepwell",
        format!("npm install '{}'", packed.display()),
    )];
    trial.then = format!(
        "<!-- background until: base_url -->\n```console\n$ {} --port 4000\n```\n\
         ```console\n$ cp stepwell/examples/web/hello.mjs . && node hello.mjs http://127.0.0.1:4000/v1\n…{ANSWER}\n```\n",
        model.display()
    );
    trial.run(context, log)
}

/// From a repository that is a folder; and the oldest Kotlin reads the package too.
fn with_maven(context: &Context, log: &mut Log) -> anyhow::Result<String> {
    kotlin::make(context, log)?;
    let mut trial = Trial::new("docs/kotlin.md", &context.root);
    trial.registry = Some("maven");
    trial.then = "```console\n$ mvn -q clean compile -Dkotlin.version=2.1.21\n```\n".to_owned();
    trial.run(context, log)
}

/// By its path. On Linux the native library is not in the package: it is linked where it was built.
fn with_swift(context: &Context, log: &mut Log) -> anyhow::Result<String> {
    let package = swift::make(context, log)?;
    let swift = Swift::ensure(context, log, OLDEST)?;
    let model = mock_llm::start(context, log, None)?;
    let project = context.scratch().join("installs-swift");
    copied(&context.root.join("examples/swift/hello"), &project)?;
    let manifest = project.join("Package.swift");
    let text = fs::read_to_string(&manifest)?;
    let package = package.display().to_string();
    fs::write(manifest, text.replace("../../../bindings/swift", &package))?;
    let mut program = swift_package::package(context, &swift, "run", &project);
    let said = log.read(program.args(["Hello", model.base_url()]))?;
    ensure!(said.contains(ANSWER), "the first program said {said:?}");
    Ok("swift run Hello".to_owned())
}
