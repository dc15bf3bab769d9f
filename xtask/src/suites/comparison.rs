use super::Suite;
use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    packages::{copied, web},
    tools::{npm, venv::Venv},
};
use std::env;

pub(super) const SUITE: Suite = Suite {
    name: "comparison",
    about: "the six jobs of docs/comparison.md run in each SDK, against one mock model, and the names in the pages on \
            migrating are those of the packages",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("examples/comparison");
    npm::ensure(log, &project)?;
    let requirements = project.join("requirements.txt");
    let venv = Venv::ensure(context, log, "venv-comparison", &requirements)?;
    let _sources = bindings::PYTHON_SOURCES.lock();
    bindings::generate(context, log, Language::Python)?;
    // Next to the packages of npm, where Node looks for it.
    let package = web::make(context, log)?;
    copied(&package, &project.join("node_modules/stepwell"))?;
    let sources = [context.root.join("bindings/python/src")];
    let python = |script: &str| {
        let mut python = venv.python();
        python.arg(project.join(script));
        python
    };
    log.show(
        python("run.py")
            .arg(project.join("node_modules"))
            .env("PYTHONPATH", env::join_paths(sources)?),
    )?;
    log.show(
        python("names.py")
            .arg(project.join("node_modules"))
            .arg(context.root.join("docs/guides")),
    )
}
