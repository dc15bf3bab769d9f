//! The wheel, from an index that has ours and sends pip to PyPI for all others.

use super::{
    Install,
    registry::{Registry, Share},
    trial::Trial,
};
use crate::{packages::python, tools::venv::Venv};
use anyhow::{Context as _, bail, ensure};
use std::fs;

pub(crate) const INSTALL: Install = Install {
    name: "pip",
    line: "pip install stepwell",
    page: "docs/python.md",
    make: python::shipped,
    run: |trial, wheel| {
        let index = trial.context.scratch().join("installs/pypi");
        if index.exists() {
            fs::remove_dir_all(&index)?;
        }
        let folder = index.join("stepwell");
        fs::create_dir_all(&folder)?;
        let name = wheel.file_name().context("the wheel has no name")?;
        let name = name.to_string_lossy();
        fs::copy(wheel, folder.join(&*name))?;
        fs::write(
            folder.join("index.html"),
            format!("<!doctype html><a href=\"{name}\">{name}</a>\n"),
        )?;
        let registry = Registry::start(
            0,
            vec![Share {
                begins: "/simple/",
                folders: vec![index],
                beyond: "https://pypi.org/simple/",
            }],
        )?;
        trial.set("PIP_INDEX_URL", format!("{}/simple/", registry.address()));
        for step in trial.steps("pypi")? {
            if let Some(program @ ".venv/bin/python scripted.py") = step.command() {
                trial.run(program)?;
                return alone(trial);
            }
            trial.take(&step)?;
        }
        bail!("the page runs no program")
    },
};

/// Nothing else came with it, and the notebook's code runs as well.
fn alone(trial: &mut Trial<'_>) -> anyhow::Result<()> {
    let venv = Venv::at(trial.project().join(".venv"));
    let installed = trial.log.read(
        venv.python()
            .args(["-m", "pip", "list", "--format", "freeze"]),
    )?;
    let others: Vec<_> = installed
        .lines()
        .filter(|line| {
            !["pip==", "setuptools==", "stepwell=="]
                .iter()
                .any(|own| line.starts_with(own))
        })
        .collect();
    ensure!(others.is_empty(), "the wheel brought {others:?}");
    let root = &trial.context.root;
    let said = trial.log.read(
        venv.python()
            .arg(root.join("bindings/python/tests/run_notebook.py"))
            .arg(root.join("examples/notebook.ipynb")),
    )?;
    ensure!(said.contains("✓ get_weather"), "the notebook said {said:?}");
    Ok(())
}
