use super::Suite;
use crate::{
    context::Context,
    log::Log,
    pages::{site, steps::Trial},
};

pub(super) const SUITE: Suite = Suite {
    name: "docs",
    about: "the site builds, its links and anchors lead somewhere, its code is run; warnings denied",
    run,
};

/// The pages whose steps take only programs that the one build has made; `prove first-steps` has all where a user begins.
const QUICK_PAGES: [&str; 5] = [
    "README.md",
    "docs/server.md",
    "docs/guides/resumable.md",
    "docs/guides/serving.md",
    "docs/guides/sessions.md",
];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    site::build(context, log)?;
    first_steps(context, log)
}

fn first_steps(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let program = context.program(log, "stepwell")?.display().to_string();
    let demo = context.program(log, "stepwell-demo")?.display().to_string();
    for page in QUICK_PAGES {
        let mut trial = Trial::new(page, &context.root);
        trial.instead = vec![
            ("cargo run --", program.clone()),
            ("cargo run", demo.clone()),
            ("stepwell", program.clone()),
        ];
        trial.run(context, log)?;
    }
    Ok(())
}
