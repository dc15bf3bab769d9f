//! What each language's own tool makes of its sources, beside the site: `reference/rust`, `python`, `kotlin`, `web`.

use crate::{
    context::Context,
    log::Log,
    packages::{kotlin, python, web},
    process,
    tools::venv::Venv,
};
use anyhow::Context as _;
use std::{fs, path::Path};

/// pdoc, and what `stepwell.testing.strategies` imports.
const PDOC: &str = "pdoc==16.0.0\nhypothesis==6.170.15\n";
const TYPEDOC: &str = "typedoc@0.28.20";
/// TypeDoc reads the types with it.
const TYPESCRIPT: &str = "typescript@5.9.3";

/// The crates that an app names.
const CRATES: &[&str] = &[
    "stepwell-core",
    "stepwell-io",
    "stepwell-axum",
    "stepwell-mock-llm",
];

/// Builds them all; one that fails does not stop the others.
pub(crate) fn build(context: &Context, log: &mut Log, site: &Path) -> anyhow::Result<()> {
    let folder = site.join("reference");
    fs::create_dir_all(&folder)?;
    let mut failed = Vec::new();
    for (name, make) in [
        (
            "rust",
            of_rust as fn(&Context, &mut Log, &Path) -> anyhow::Result<()>,
        ),
        ("python", of_python),
        ("kotlin", of_kotlin),
        ("web", of_the_web),
    ] {
        log.say(&format!("the reference of {name}"))?;
        if let Err(error) = make(context, log, &folder.join(name)) {
            log.say(&format!("{error:#}"))?;
            failed.push(name);
        }
    }
    anyhow::ensure!(
        failed.is_empty(),
        "there is no reference of: {}",
        failed.join(", ")
    );
    Ok(())
}

fn of_rust(context: &Context, log: &mut Log, folder: &Path) -> anyhow::Result<()> {
    let made = context.target.join("reference-rust");
    log.build(
        process::cargo()
            .args(["doc", "--no-deps", "--all-features", "--target-dir"])
            .arg(&made)
            .args(CRATES.iter().flat_map(|name| ["--package", *name]))
            .current_dir(&context.root),
    )?;
    crate::packages::copied(&made.join("doc"), folder)
}

fn of_python(context: &Context, log: &mut Log, folder: &Path) -> anyhow::Result<()> {
    let venv = python::venv(context, log)?;
    let wheels = context.scratch().join("wheels-reference");
    let wheel = python::wheel(context, log, &venv, "dev", &wheels)?;
    let requirements = context.scratch().join("requirements-reference.txt");
    fs::write(&requirements, PDOC)?;
    let venv = Venv::ensure(context, log, "venv-reference", &requirements)?;
    venv.install(context, log, |uv| {
        uv.args(["--reinstall", "--no-deps"]).arg(&wheel)
    })?;
    log.run(
        venv.python()
            .args([
                "-m",
                "pdoc",
                "--docformat",
                "restructuredtext",
                "--output-directory",
            ])
            .arg(folder)
            .args([
                "stepwell",
                "stepwell.asgi",
                "stepwell.testing",
                "stepwell.testing.strategies",
                "!stepwell._ffi",
            ]),
    )
}

/// The package has it, as a jar.
fn of_kotlin(context: &Context, log: &mut Log, folder: &Path) -> anyhow::Result<()> {
    let repository = (kotlin::PACKAGE.make)(context, log)?;
    let version = context.version()?;
    let jar = repository.join(format!(
        "dev/stepwell/stepwell-kotlin/{version}/stepwell-kotlin-{version}-javadoc.jar"
    ));
    fs::create_dir_all(folder)?;
    log.run(
        process::command("jar")
            .args(["--extract", "--file"])
            .arg(jar)
            .current_dir(folder),
    )
}

fn of_the_web(context: &Context, log: &mut Log, folder: &Path) -> anyhow::Result<()> {
    let package = web::make(context, log)?;
    let tools = context.scratch().join("typedoc");
    fs::create_dir_all(&tools)?;
    fs::write(tools.join("package.json"), "{\"private\": true}\n")
        .with_context(|| format!("cannot write into {}", tools.display()))?;
    log.set_up(
        process::command("npm")
            .args([
                "install",
                "--no-audit",
                "--no-fund",
                "--no-save",
                TYPEDOC,
                TYPESCRIPT,
            ])
            .current_dir(&tools),
    )?;
    log.run(
        process::command("node")
            .arg(tools.join("node_modules/typedoc/bin/typedoc"))
            .args(["--skipErrorChecking", "--entryPoints"])
            .arg(package.join("index.d.ts"))
            // It is a page of the site.
            .args(["--readme", "none", "--out"])
            .arg(folder)
            .current_dir(&tools),
    )
}
