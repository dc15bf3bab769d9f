//! A run goes around the languages as a snapshot.

use super::Suite;
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

/// One language plays its part: it runs what it is given after setting it up for its leg.
type Leg = fn(&Context, &mut Log, &dyn Fn(&mut Command)) -> anyhow::Result<()>;

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
    for (index, (language, leg)) in LEGS.iter().enumerate() {
        let number = format!("{}/{}", index + 1, LEGS.len());
        leg(context, log, &|command| {
            command
                .env("STEPWELL_RING", &place)
                .env("STEPWELL_RING_LEG", &number);
        })?;
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

fn rust(context: &Context, log: &mut Log, set_up: &dyn Fn(&mut Command)) -> anyhow::Result<()> {
    for program in context.integration_tests(log, "scenarios")? {
        let mut command = program.command();
        set_up(command.arg("a_leg_of_the_ring"));
        log.run(&mut command)?;
    }
    Ok(())
}

fn python(context: &Context, log: &mut Log, set_up: &dyn Fn(&mut Command)) -> anyhow::Result<()> {
    let package = context.root.join("bindings/python");
    let venv = Venv::ensure(context, log, "venv", &package.join("requirements-dev.txt"))?;
    // Python's sources get the library beside them: the wheel itself is the suite `python`'s.
    let _sources = bindings::python::SOURCES.lock();
    bindings::python::generate(context, log)?;
    let mut command = venv.python();
    command
        .args([
            "-m",
            "pytest",
            "tests/test_scenarios.py::test_a_leg_of_the_ring",
        ])
        .env("PYTHONPATH", package.join("src"))
        .current_dir(&package);
    set_up(&mut command);
    log.run(&mut command)
}

fn kotlin(context: &Context, log: &mut Log, set_up: &dyn Fn(&mut Command)) -> anyhow::Result<()> {
    apt::ensure(log, &["java", "mvn"], &["default-jdk-headless", "maven"])?;
    let _sources = bindings::kotlin::SOURCES.lock();
    bindings::kotlin::generate(context, log)?;
    // Maven's phase compiles everything again, also if nothing has changed.
    let goal = if context.made.kotlin_classes.is_made() {
        "surefire:test"
    } else {
        "test"
    };
    let mut command = process::command("mvn");
    command
        .args(["--batch-mode", "--no-transfer-progress", goal])
        .arg("-Dtest=ScenarioTest#aLegOfTheRing")
        .arg(format!(
            "-Dstepwell.library.directory={}",
            context.debug().display()
        ))
        .current_dir(context.root.join("bindings/kotlin"));
    set_up(&mut command);
    log.run(&mut command)
}

fn wasm(context: &Context, log: &mut Log, set_up: &dyn Fn(&mut Command)) -> anyhow::Result<()> {
    apt::ensure(log, &["node"], &["nodejs"])?;
    let package = web::make(context, log)?;
    let mut command = process::command("node");
    command
        .arg("node.mjs")
        .arg(package)
        .current_dir(context.root.join("bindings/web/tests"));
    set_up(&mut command);
    log.run(&mut command)
}
