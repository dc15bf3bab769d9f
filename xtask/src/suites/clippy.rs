use super::Suite;
use crate::{process, tools::rustup};

pub(super) const SUITE: Suite = Suite {
    name: "clippy",
    about: "the workspace's lints, warnings denied",
    run: |context, log| {
        rustup::component(log, "clippy", "clippy")?;
        log.run(
            process::cargo()
                .args([
                    "clippy",
                    "--workspace",
                    "--all-targets",
                    "--",
                    "-D",
                    "warnings",
                ])
                .current_dir(&context.root),
        )
    },
};
