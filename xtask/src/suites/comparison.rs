use super::Suite;
use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    packages::{copied, web},
    tools::{npm, venv::Venv},
};

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
    let python = |script: &str| {
        let mut python = venv.python();
        python.arg(project.join(script));
        python.arg(project.join("node_modules"));
        python.env("PYTHONPATH", context.root.join("bindings/python/src"));
        python
    };
    log.show(&mut python("run.py"))?;
    log.show(python("names.py").arg(context.root.join("docs/guides")))
}
