use super::Suite;
use crate::{process, tools::rustup};

pub(super) const SUITE: Suite = Suite {
    name: "clippy",
    about: "the workspace's lints, warnings denied",
    run: |context, log| {
        rustup::component(log, "clippy", "clippy")?;
        // With the model checker's doors; `sans-io` looks at the core without them.
        log.run(
            process::cargo()
                .args(["clippy", "--workspace", "--all-targets"])
                .args(["--features", "stepwell-core/model-check"])
                .args(["--", "-D", "warnings"])
                .current_dir(&context.root),
        )
    },
};
