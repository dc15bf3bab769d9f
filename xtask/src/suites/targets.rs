use super::Suite;
use crate::{
    context::Context,
    log::Log,
    packages::sizes,
    process,
    tools::{no_c, rustup},
};

pub(super) const SUITE: Suite = Suite {
    name: "targets",
    about: "the core, the sans-IO APIs and the agent with all that it has are type-checked for iOS and Android, where \
            the library with the sans-IO API alone is under 2.75 MB; on x86-64 Linux, the smallest is under 2.4 MB",
    run,
};

const IPHONE: &str = "aarch64-apple-ios";
const ANDROID: &str = "aarch64-linux-android";

/// A library for iOS comes of `prove sizes`.
fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    // In one command, which compiles what they share once, and one target's crates beside the other's.
    let mut all = process::cargo();
    all.current_dir(&context.root);
    all.args(["check", "--lib"])
        .args(["-p", "stepwell-core", "-p", "stepwell-c"])
        .args(["-p", "stepwell-ffi"]);
    for target in [IPHONE, ANDROID] {
        rustup::target(log, target)?;
        no_c::check(context, &mut all, target)?;
        all.args(["--target", target]);
    }
    log.build(&mut all)?;
    sizes::weigh_two(context, log)
}
