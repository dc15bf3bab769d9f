use super::Suite;
use crate::process;

pub(super) const SUITE: Suite = Suite {
    name: "docs",
    about: "the API documentation builds, warnings denied",
    run: |context, log| {
        log.build(
            process::cargo()
                .args(["doc", "--workspace", "--no-deps"])
                .env("RUSTDOCFLAGS", "-D warnings")
                .current_dir(&context.root),
        )
    },
};
