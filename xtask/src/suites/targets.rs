use super::Suite;
use crate::{process, tools::rustup};

pub(super) const SUITE: Suite = Suite {
    name: "targets",
    about: "the core compiles for iOS and Android",
    run: |context, log| {
        for target in ["aarch64-apple-ios", "aarch64-linux-android"] {
            rustup::target(log, target)?;
            log.run(
                process::cargo()
                    .args(["check", "-p", "stepwell-core", "--target", target])
                    .current_dir(&context.root),
            )?;
        }
        Ok(())
    },
};
