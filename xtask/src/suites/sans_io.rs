use super::Suite;
use crate::{process, tools::rustup};

pub(super) const SUITE: Suite = Suite {
    name: "sans-io",
    about: "the core's own code uses no clock, file, socket, thread or random number (xtask/sans-io/clippy.toml)",
    run: |context, log| {
        rustup::component(log, "clippy", "clippy")?;
        for features in [&["--no-default-features"][..], &[]] {
            log.run(
                process::cargo()
                    .args(["clippy", "-p", "stepwell-core", "--lib"])
                    .args(features)
                    .args(["--", "-D", "warnings"])
                    .args(["-D", "clippy::disallowed_types"])
                    .args(["-D", "clippy::disallowed_methods"])
                    .args(["-D", "clippy::print_stdout", "-D", "clippy::print_stderr"])
                    .env("CLIPPY_CONF_DIR", context.root.join("xtask/sans-io"))
                    .current_dir(&context.root),
            )?;
        }
        Ok(())
    },
};
