use super::Suite;
use crate::{
    context::Context,
    log::Log,
    pages::{
        self, site,
        steps::{self, Place},
    },
};
use anyhow::Context as _;
use std::{fs, path::Path};

pub(super) const SUITE: Suite = Suite {
    name: "docs",
    about: "the site builds, its links and anchors lead somewhere, its code is run; warnings denied",
    run,
};

/// The pages whose steps take only programs that the one build has made; `prove first-steps` has them all.
const QUICK_PAGES: &[&str] = &["README.md", "docs/server.md"];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    site::build(context, log)?;
    first_steps(context, log)
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
