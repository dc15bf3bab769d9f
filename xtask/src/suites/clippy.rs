use super::Suite;
use crate::{process, tools::rustup};

pub(super) const SUITE: Suite = Suite {
    name: "clippy",
    about: "the workspace's lints, warnings denied",
    run: |context, log| {
        rustup::component(log, "clippy", "clippy")?;
        let whole = &["--workspace"][..];
        let checker = &["-p", "stepwell-core", "--features", "model-check"][..];
        for packages in [whole, checker] {
            log.run(
                process::cargo()
                    .arg("clippy")
                    .args(packages)
                    .args(["--all-targets", "--", "-D", "warnings"])
                    .current_dir(&context.root),
            )?;
        }
        Ok(())
    },
};
