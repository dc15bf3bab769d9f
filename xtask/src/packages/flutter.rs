//! The Flutter plugin: its sources, with the libraries that this machine can build.

use super::{copied, emptied, sizes::gzip};
use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    process,
};
use std::{env::consts::ARCH, fs, path::PathBuf};

const PARTS: &str =
    "pubspec.yaml analysis_options.yaml README.md CHANGELOG.md lib test android ios macos linux";

pub(super) fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let sources = context.root.join("bindings/flutter");
    let folder = emptied(context.target.join("package/flutter"))?;
    if std::env::var_os("ANDROID_NDK_HOME").is_some() {
        log.run(process::command("bash").arg(sources.join("tool/android.sh")))?;
    } else {
        log.say(
            "without Android's libraries: that takes cargo-ndk, and an NDK in ANDROID_NDK_HOME",
        )?;
    }
    if process::exists("xcodebuild") {
        log.run(process::command("bash").arg(sources.join("tool/apple.sh")))?;
    } else {
        log.say("without Apple's frameworks: that takes a Mac with Xcode")?;
    }
    bindings::generate(context, log, Language::Flutter)?;
    for part in PARTS.split(' ') {
        copied(&sources.join(part), &folder.join(part))?;
    }
    // pub.dev wants one file.
    copied(&context.root.join("LICENSE-MIT"), &folder.join("LICENSE"))?;
    if cfg!(target_os = "linux") {
        log.run(
            process::cargo()
                .args(["rustc", "-p", "stepwell-c", "--lib"])
                .args(["--crate-type", "cdylib", "--profile", "small"])
                .current_dir(&context.root),
        )?;
        let library = folder.join("linux/lib").join(ARCH).join("libstepwell_c.so");
        copied(&context.target.join("small/libstepwell_c.so"), &library)?;
        log.run(process::command("strip").arg(&library))?;
        let packed = gzip(log, &library)?;
        log.say(&format!(
            "Linux's library: {} bytes, {packed} as gzip packs it",
            fs::metadata(&library)?.len()
        ))?;
    }
    Ok(folder)
}
