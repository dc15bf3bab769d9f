use super::Suite;
use crate::{context::Context, log::Log, process, tools::rustup};

pub(super) const SUITE: Suite = Suite {
    name: "format",
    about: "all Rust code is as rustfmt writes it",
    run: check,
};

pub(crate) fn check(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    rustup::component(log, "fmt", "rustfmt")?;
    log.run(
        process::cargo()
            .args(["fmt", "--all", "--check", "--", "--color", "never"])
            .current_dir(&context.root),
    )
}
