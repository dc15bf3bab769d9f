//! README's moving pictures: a turn on the page of `stepwell serve`, and one in a notebook, by the scripts of
//! `docs/recording`.

use crate::{
    bindings,
    context::Context,
    log::Log,
    packages::python,
    process::{self, Background},
    tools::chromium,
};
use anyhow::{Context as _, ensure};
use std::{ffi::OsStr, fs};

/// What README's readers load of each.
const MOST_BYTES: u64 = 150_000;

/// Records them into `docs/recording`.
pub(super) fn make(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    page(context, log)?;
    notebook(context, log)
}

fn page(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    log.build(
        process::cargo()
            .args(["build", "--package", "stepwell"])
            .current_dir(&context.root),
    )?;
    let mut serve = process::command(context.debug().join("stepwell"));
    serve
        .args(["serve", "--listen", "127.0.0.1:0", "--script"])
        .arg(context.root.join("docs/recording/script.json"));
    let (_server, said) = Background::start(&mut serve, "web page at ")?;
    let address = said.split("web page at ").nth(1);
    let address = address.context("the server does not say where its page is")?;
    record(context, log, "page", &[address.trim().as_ref()])
}

fn notebook(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let _sources = bindings::python::SOURCES.lock();
    bindings::python::generate(context, log)?;
    record(context, log, "notebook", &[])
}

fn record(
    context: &Context,
    log: &mut Log,
    name: &str,
    arguments: &[&OsStr],
) -> anyhow::Result<()> {
    let scripts = context.root.join("docs/recording");
    let package = context.root.join("bindings/python");
    let imported = std::env::join_paths([package.join("src"), package.join("tests")])?;
    let file = scripts.join(name).with_extension("webp");
    let venv = python::venv(context, log)?;
    let mut script = venv.python();
    script
        .arg(scripts.join(name).with_extension("py"))
        .arg(&file)
        .args(arguments)
        .env("PYTHONPATH", imported)
        .env("STEPWELL_CHROMIUM", chromium::ensure(log)?);
    let said = log.read(&mut script)?;
    let size = fs::metadata(&file)?.len();
    log.say(&format!("{name}.webp: {}, {size} bytes", said.trim()))?;
    ensure!(
        size < MOST_BYTES,
        "{name}.webp has {size} bytes, too many for a README"
    );
    Ok(())
}
