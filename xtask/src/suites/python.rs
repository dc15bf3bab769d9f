use super::Suite;
use crate::{
    context::Context,
    log::Log,
    tools::{mock_llm, venv::Venv},
};
use anyhow::{Context as _, ensure};
use std::{fs, path::PathBuf};

pub(super) const SUITE: Suite = Suite {
    name: "python",
    about: "the wheel: built, installed, tested, and its types checked",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let package = context.root.join("bindings/python");
    let venv = Venv::ensure(context, log, "venv", &package.join("requirements-dev.txt"))?;
    let wheels = context.scratch().join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    log.run(
        venv.program("maturin")
            .args(["build", "--profile", "dev", "--out"])
            .arg(&wheels)
            .current_dir(&package)
            .env("CARGO_TARGET_DIR", &context.target),
    )?;
    let wheel = only_file(&wheels)?;
    let version = context.version()?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    ensure!(
        name.starts_with(&format!("stepwell-{version}-py3-none-")),
        "the wheel is {name}, not of version {version}"
    );
    log.run(
        venv.python()
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--force-reinstall",
                "--no-deps",
            ])
            .arg(&wheel),
    )?;

    let mut pytest = venv.python();
    pytest.args(["-m", "pytest", "tests"]).current_dir(&package);
    let program = mock_llm::build(context, log)?;
    pytest.env(mock_llm::VARIABLE, program);
    log.run(&mut pytest)?;
    for what in [&["-p", "stepwell"][..], &["tests"]] {
        log.run(
            venv.python()
                .args(["-m", "mypy", "--strict"])
                .args(what)
                .current_dir(&package),
        )?;
    }
    Ok(())
}

fn only_file(folder: &std::path::Path) -> anyhow::Result<PathBuf> {
    let files = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(
        files.len() == 1,
        "{} wheels were built, not one",
        files.len()
    );
    files.into_iter().next().context("no wheel was built")
}
