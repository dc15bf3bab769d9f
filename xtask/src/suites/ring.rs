//! A run goes around the languages as a snapshot.

use super::Suite;
use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    packages::{python, web},
    process,
    tools::{apt, npm},
};
use anyhow::ensure;
use std::{fs, process::Command};

pub(super) const SUITE: Suite = Suite {
    name: "ring",
    about: "each scenario goes from Rust over Python, Kotlin and WebAssembly back to Rust, by snapshots",
    run,
};

/// One language's part: runs the given program after setting it up for its leg.
type Leg = fn(&Context, &mut Log, &dyn Fn(&mut Command)) -> anyhow::Result<()>;

const LEGS: &[(&str, Leg)] = &[
    ("Rust", rust),
    ("Python", python),
    ("Kotlin", kotlin),
    ("WebAssembly", wasm),
    ("Rust", rust),
];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let place = context.emptied("ring")?;
    for (number, (language, leg)) in (1..).zip(LEGS) {
        leg(context, log, &|command| {
            command
                .env("STEPWELL_RING", &place)
                .env("STEPWELL_RING_LEG", format!("{number}/{}", LEGS.len()));
        })?;
        let stored = fs::read_dir(&place)?.flatten();
        let end = format!(".{number}.json");
        let of_leg = stored.filter(|it| it.file_name().to_string_lossy().ends_with(&end));
        let count = of_leg.count();
        ensure!(count >= 50, "{language} stored only {count} runs");
        log.say(&format!("{language}: {count} scenarios handed on"))?;
    }
    Ok(())
}

fn rust(context: &Context, log: &mut Log, set_up: &dyn Fn(&mut Command)) -> anyhow::Result<()> {
    context.test(log, "scenarios", &["a_leg_of_the_ring"], set_up)
}

fn python(context: &Context, log: &mut Log, set_up: &dyn Fn(&mut Command)) -> anyhow::Result<()> {
    let package = context.root.join("bindings/python");
    let mut pytest = python::venv(context, log)?.python();
    // Python's sources get the library next to them: the wheel itself belongs to the suite `python`.
    let _sources = bindings::PYTHON_SOURCES.lock();
    bindings::generate(context, log, Language::Python)?;
    pytest
        .args(["-m", "pytest"])
        .arg("tests/test_scenarios.py::test_a_leg_of_the_ring")
        .env("PYTHONPATH", package.join("src"))
        .current_dir(&package);
    set_up(&mut pytest);
    log.run(&mut pytest)
}

fn kotlin(context: &Context, log: &mut Log, set_up: &dyn Fn(&mut Command)) -> anyhow::Result<()> {
    apt::ensure(log, &["java", "mvn"], &["default-jdk-headless", "maven"])?;
    let _sources = bindings::KOTLIN_SOURCES.lock();
    bindings::generate(context, log, Language::Kotlin)?;
    // Maven's phase compiles everything again, also if nothing has changed.
    let is_compiled = context.made.kotlin_classes.is_made();
    let goal = if is_compiled { "surefire:test" } else { "test" };
    let library = context.debug();
    let mut maven = process::command("mvn");
    maven
        .args(["--batch-mode", "--no-transfer-progress", goal])
        .arg("-Dtest=ScenarioTest#aLegOfTheRing")
        .arg(format!(
            "-Dstepwell.library.directory={}",
            library.display()
        ))
        .current_dir(context.root.join("bindings/kotlin"));
    set_up(&mut maven);
    log.run(&mut maven)
}

fn wasm(context: &Context, log: &mut Log, set_up: &dyn Fn(&mut Command)) -> anyhow::Result<()> {
    let tests = context.root.join("bindings/web/tests");
    let mut node = npm::script(&tests, "node.mjs");
    set_up(node.arg(web::make(context, log)?));
    log.run(&mut node)
}
