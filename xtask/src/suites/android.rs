use super::Suite;
use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    packages::kotlin as package,
    process,
    tools::{Unavailable, apt, mock_llm},
};
use std::{fs, process::Command, process::Stdio};

pub(super) const SUITE: Suite = Suite {
    name: "android",
    about: "the example app: compiled, and driven on Android's framework under Robolectric; what R8 leaves of the package",
    run,
};

/// Returns whether `aapt2` can be run. Unlike other programs, `aapt2` has a subcommand for its version and no option.
fn has_aapt2() -> bool {
    let mut version = process::command("aapt2");
    let version = version.arg("version").stdout(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    package::ensure_tools(log)?;
    apt::ensure_that(log, has_aapt2, "aapt2", &["aapt"])?;
    let folder = context.scratch().join("android");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let sources = bindings::KOTLIN_SOURCES.lock();
    bindings::generate(context, log, Language::Kotlin)?;
    let bindings = context.root.join("bindings/kotlin");
    if !context.made.kotlin_classes.is_made() {
        log.run(maven().arg("compile").current_dir(&bindings))?;
    }
    let stepwell = folder.join("stepwell");
    fs::create_dir_all(&folder)?;
    log.run(
        process::command("cp")
            .arg("-r")
            .arg(bindings.join("target/classes"))
            .arg(&stepwell),
    )?;
    drop(sources);
    let app = context.root.join("examples/android/robolectric");
    let program = mock_llm::build(context, log)?;
    let mut test = maven();
    test.arg("test")
        .arg(format!("-Doutput={}", folder.display()))
        .arg(format!("-Dstepwell.classes={}", stepwell.display()))
        .arg(format!(
            "-Dstepwell.library.directory={}",
            context.debug().display()
        ))
        .env(mock_llm::VARIABLE, program)
        .current_dir(&app);
    log.run(&mut test).or_else(|failed| {
        // Maven itself decides whether a mirror of Maven Central has androidx.
        log.run(maven().arg("dependency:resolve").current_dir(&app))
            .map_err(|error| Unavailable(format!("Maven finds no androidx ({error})")))?;
        Err(failed)
    })?;
    let pictures = folder.join("pictures");
    log.say(&format!(
        "the pictures of the screens are in {}",
        pictures.display()
    ))?;
    let shrunk = fs::metadata(folder.join("shrunk.jar"))?;
    log.say(&format!("R8 leaves {} bytes", shrunk.len()))
}

fn maven() -> Command {
    let mut command = process::command("mvn");
    command.args(["--batch-mode", "--no-transfer-progress", "-q"]);
    command
}
