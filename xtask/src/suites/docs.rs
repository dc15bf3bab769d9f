use super::Suite;
use crate::{
    context::Context,
    linter::Compiled,
    log::Log,
    pages::{
        self, site,
        steps::{self, Place},
    },
};
use anyhow::{Context as _, bail};
use cargo_metadata::TargetKind;
use std::{fs, path::Path};

pub(super) const SUITE: Suite = Suite {
    name: "docs",
    about: "the site builds, its links and anchors lead somewhere, its code is run; the API documentation builds; warnings denied",
    run,
};

/// The pages whose steps take only programs that the one build has made; `prove first-steps` has them all.
const QUICK_PAGES: &[&str] = &["README.md", "docs/server.md"];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    site::build(context, log)?;
    first_steps(context, log)?;
    rustdoc(context, log)
}

fn first_steps(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let program = context.program(log, "stepwell")?;
    let demo = context.program(log, "stepwell-demo")?;
    let folder = Place::outside("quick")?;
    for page in QUICK_PAGES {
        let page = pages::read(context, Path::new(page))?;
        let mut place = Place::new(&folder, &context.root)?
            .with_built("cargo run --", &program)
            .with_built("cargo run", &demo);
        for step in steps::of_page(&page, &[]) {
            let took = place.take(log, &step);
            took.with_context(|| page.path.display().to_string())?;
        }
    }
    Ok(fs::remove_dir_all(folder)?)
}

/// Every library and program, as `cargo doc --workspace --no-deps` has them, from what the one build has compiled.
fn rustdoc(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for package in &context.workspace.packages {
        let library = package
            .targets
            .iter()
            .find(|target| is_library(&target.kind));
        let programs = package.targets.iter().filter(|target| {
            // Of a library and a program of the same name cargo documents the library.
            target.is_bin() && library.is_none_or(|library| library.name != target.name)
        });
        for target in library.into_iter().chain(programs) {
            let compiled = Compiled::load(context, &target.name, target.is_bin())?;
            let mut rustdoc = compiled.rustdoc(context)?;
            if log.run(rustdoc.args(["-D", "warnings"])).is_err() {
                failed.push(target.name.clone());
            }
        }
    }
    if !failed.is_empty() {
        bail!("the documentation has faults: {}", failed.join(", "));
    }
    Ok(())
}

fn is_library(kinds: &[TargetKind]) -> bool {
    let library = [TargetKind::Lib, TargetKind::CDyLib, TargetKind::RLib];
    kinds.iter().any(|kind| library.contains(kind))
}
