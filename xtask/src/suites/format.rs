use super::Suite;
use crate::{process, tools::rustup};

pub(super) const SUITE: Suite = Suite {
    name: "format",
    about: "all Rust code is as rustfmt writes it",
    run: |context, log| {
        rustup::component(log, "fmt", "rustfmt")?;
        log.run(
            process::cargo()
                .args(["fmt", "--all", "--check", "--", "--color", "never"])
                .current_dir(&context.root),
        )
    },
};
