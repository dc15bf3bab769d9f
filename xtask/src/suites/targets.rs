use super::Suite;
use crate::{
    context::Context,
    log::Log,
    packages::sizes,
    process,
    tools::{no_c, rustup},
};
use std::process::Command;

pub(super) const SUITE: Suite = Suite {
    name: "targets",
    about: "the core, the sans-IO APIs and the agent with all that it has are type-checked for iOS and Android; for iOS \
            a static library comes of it; on x86-64 Linux, the smallest library is under 2 MiB",
    run,
};

const IPHONE: &str = "aarch64-apple-ios";
const ANDROID: &str = "aarch64-linux-android";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    // In one command, which compiles what they share once, and one target's crates beside the other's.
    let mut all = cargo(context);
    all.args(["check", "--lib"])
        .args(["-p", "stepwell-core", "-p", "stepwell-c"])
        .args(["-p", "stepwell-ffi"]);
    for target in [IPHONE, ANDROID] {
        rustup::target(log, target)?;
        no_c::check(context, &mut all, target)?;
        all.args(["--target", target]);
    }
    log.build(&mut all)?;
    // An archive needs no linker, so it can be built without Xcode.
    let mut archive = cargo(context);
    archive
        .args(["rustc", "-p", "stepwell-ffi", "--lib"])
        .args(["--no-default-features", "--features", "uniffi"])
        .args(["--crate-type", "staticlib", "--target", IPHONE]);
    log.build(&mut archive)?;
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        sizes::weigh_smallest(context, log)?;
    }
    Ok(())
}

fn cargo(context: &Context) -> Command {
    let mut command = process::cargo();
    command.current_dir(&context.root);
    command
}
