//! A run goes around the languages as a snapshot.

use super::{Suite, rust::integration_tests};
use crate::{
    bindings,
    context::Context,
    log::Log,
    packages::web,
    process,
    tools::{apt, venv::Venv},
};
use std::{fs, path::Path, process::Command};

pub(super) const SUITE: Suite = Suite {
    name: "ring",
    about: "each scenario goes from Rust over Python, Kotlin and WebAssembly back to Rust, by snapshots",
    run,
};

/// One language's way to play its part.
type Leg = fn(&Context, &mut Log) -> anyhow::Result<Command>;

const LEGS: &[(&str, Leg)] = &[
    ("Rust", rust),
    ("Python", python),
    ("Kotlin", kotlin),
    ("WebAssembly", wasm),
    ("Rust", rust),
];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let place = context.scratch().join("ring");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    // Python's sources get the library beside them: the wheel itself is the suite `python`'s.
    bindings::python_and_kotlin(context, log)?;
    for (index, (language, leg)) in LEGS.iter().enumerate() {
        let mut command = leg(context, log)?;
        command
            .env("STEPWELL_RING", &place)
            .env("STEPWELL_RING_LEG", format!("{}/{}", index + 1, LEGS.len()));
        log.run(&mut command)?;
        let played = count(&place, index + 1)?;
        anyhow::ensure!(played >= 50, "{language} stored only {played} runs");
        log.say(&format!("{language}: {played} scenarios handed on"))?;
    }
    Ok(())
}

fn count(place: &Path, leg: usize) -> anyhow::Result<usize> {
    let end = format!(".{leg}.json");
    let mut count = 0;
    for entry in fs::read_dir(place)? {
        count += usize::from(entry?.file_name().to_string_lossy().ends_with(&end));
    }
    Ok(count)
}

fn rust(context: &Context, _: &mut Log) -> anyhow::Result<Command> {
    let mut command = integration_tests(context, &["scenarios"]);
    command.arg("a_leg_of_the_ring");
    Ok(command)
}

fn python(context: &Context, log: &mut Log) -> anyhow::Result<Command> {
    let package = context.root.join("bindings/python");
    let venv = Venv::ensure(context, log, "venv", &package.join("requirements-dev.txt"))?;
    let mut command = venv.python();
    command
        .args([
            "-m",
            "pytest",
            "tests/test_scenarios.py::test_a_leg_of_the_ring",
        ])
        .env("PYTHONPATH", package.join("src"))
        .current_dir(&package);
    Ok(command)
}

fn kotlin(context: &Context, log: &mut Log) -> anyhow::Result<Command> {
    apt::ensure(log, &["java", "mvn"], &["default-jdk-headless", "maven"])?;
    let mut command = process::command("mvn");
    command
        .args(["--batch-mode", "--no-transfer-progress", "test"])
        .arg("-Dtest=ScenarioTest#aLegOfTheRing")
        .arg(format!(
            "-Dstepwell.library.directory={}",
            context.debug().display()
        ))
        .current_dir(context.root.join("bindings/kotlin"));
    Ok(command)
}

fn wasm(context: &Context, log: &mut Log) -> anyhow::Result<Command> {
    apt::ensure(log, &["node"], &["nodejs"])?;
    let package = web::make(context, log)?;
    let mut command = process::command("node");
    command
        .arg("node.mjs")
        .arg(package)
        .current_dir(context.root.join("bindings/web/tests"));
    Ok(command)
}
