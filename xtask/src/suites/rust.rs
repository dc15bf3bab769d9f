use super::Suite;
use crate::process;

pub(super) const SUITE: Suite = Suite {
    name: "rust",
    about: "every crate's unit, integration and documentation tests",
    run: |context, log| {
        log.run(
            process::cargo()
                .args(["test", "--workspace", "--no-fail-fast"])
                .current_dir(&context.root),
        )
    },
};
