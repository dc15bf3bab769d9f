use super::Suite;
use crate::{context::Context, log::Log, packages::sizes, process, tools::rustup};

pub(super) const SUITE: Suite = Suite {
    name: "targets",
    about: "the core and the agent are type-checked for Android; `prove sizes` does the same with all that they have, for iOS too",
    run: |context, log| check(context, log, &["stepwell-io"], &[ANDROID]),
};

const ANDROID: &str = "aarch64-linux-android";
const IOS: &str = "aarch64-apple-ios";

/// The same for all libraries and systems, and the size of each library for phones.
pub(crate) fn prove(context: &Context, log: &mut Log) -> anyhow::Result<String> {
    let all = ["stepwell-core", "stepwell-c", "stepwell-ffi"];
    check(context, log, &all, &[ANDROID, IOS])?;
    sizes::weigh(context, log)?;
    Ok("the libraries compile for iOS and Android, and each is under its size".to_owned())
}

/// Checks all targets in one command, which compiles shared code once, and the targets' crates side by side.
fn check(
    context: &Context,
    log: &mut Log,
    packages: &[&str],
    targets: &[&str],
) -> anyhow::Result<()> {
    let mut cargo = process::cargo();
    cargo.args(["check", "--lib"]).current_dir(&context.root);
    cargo.args(packages.iter().flat_map(|name| ["--package", name]));
    for target in targets {
        rustup::target(log, target)?;
        // The C code of crates is compiled to nothing, and Xcode is not asked for Apple's SDK: no linker ever sees the
        // result.
        let name = target.replace('-', "_");
        cargo
            .args(["--target", target])
            .env(format!("CC_{name}"), "true")
            .env(format!("AR_{name}"), "true")
            .env("SDKROOT", "/usr");
    }
    log.build(&mut cargo)
}
