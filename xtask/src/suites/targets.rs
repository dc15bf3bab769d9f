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
    for target in [IPHONE, ANDROID] {
        rustup::target(log, target)?;
        // In one command, which compiles what they share once.
        let mut all = cargo(context);
        all.args(["check", "--lib", "--target", target])
            .args(["-p", "stepwell-core", "-p", "stepwell-c"])
            .args(["-p", "stepwell-ffi"]);
        no_c::check(context, &mut all, target)?;
        log.build(&mut all)?;
    }
    let library = [
        "-p",
        "stepwell-ffi",
        "--lib",
        "--no-default-features",
        "--features",
        "uniffi",
    ];
    log.build(
        cargo(context)
            .arg("check")
            .args(library)
            .args(["--target", ANDROID]),
    )?;
    // An archive needs no linker, so it can be built without Xcode.
    log.build(cargo(context).arg("rustc").args(library).args([
        "--crate-type",
        "staticlib",
        "--target",
        IPHONE,
    ]))?;
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
