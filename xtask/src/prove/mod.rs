//! The long proofs: most are tests of the test run with larger numbers.

mod first_steps;
mod kills;
mod tools;

use crate::{
    context::{Context, THOROUGH},
    installs,
    log::Log,
    process,
    suites::{model, targets, threads},
};
use anyhow::ensure;
use clap::{Args, ValueEnum};
use std::{
    env, fs,
    process::{Command, ExitCode},
    time::Instant,
};

/// A proof.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// Each property with --cases cases, and every history for every provider
    Proptests,
    /// The model checker: ten million states, and each fault found
    Model,
    /// The shared registry under every order of its threads' steps
    Threads,
    /// Programs and hosts that are killed, frozen, cut off and replaced 200 times
    Kills,
    /// Two hosts on one PostgreSQL, of which either is lost in each way
    Hosts,
    /// The suites of other languages with all that a test run takes a share of
    Languages,
    /// Each package, installed from a registry as a user does
    Installs,
    /// The host in one process under 100,000 seeds, with each engine
    Simulation,
    /// Turns with three models that fail in every way, and hosts that die at any time, under 100,000 seeds
    Storm,
    /// The libraries for iOS and Android, and those with the sans-IO API alone under their sizes
    Sizes,
    /// The commands of each page where a user begins, in a fresh clone with an empty home
    FirstSteps,
    /// The framers and every dialect under libFuzzer, --seconds each
    Fuzz,
    /// The core's table of prices, compared with the newest data of genai-prices
    Prices,
    /// Small faults that cargo-mutants puts into the machine, the journal and the registry
    Mutants,
}

/// What to prove.
#[derive(Args)]
pub(crate) struct Options {
    /// The steps; all of them if none is named.
    steps: Vec<Step>,
    /// Cases for each property.
    #[arg(long, default_value_t = 20_000)]
    cases: u32,
    /// How long each fuzz target runs.
    #[arg(long, default_value_t = 600)]
    seconds: u32,
    /// Only a part of the mutants: `0/8` is the first eighth.
    #[arg(long, value_name = "PART/PARTS")]
    shard: Option<String>,
    /// Only the mutants whose names match, such as `timer.rs` or `Recorder::`, and those that leave out a field of a
    /// struct; only the fuzz target, the install or the page of this name.
    #[arg(long, value_name = "REGEX")]
    only: Option<String>,
}

type Proved = anyhow::Result<()>;

impl Step {
    fn prove(self, context: &Context, log: &mut Log, options: &Options) -> Proved {
        let only = options.only.as_deref();
        match self {
            Self::Proptests => proptests(context, log, options),
            Self::Model => model_checker(context, log),
            Self::Threads => interleavings(context, log),
            Self::Kills => kills::storms(context, log),
            Self::Hosts => kills::hosts(context, log),
            Self::Languages => languages(),
            Self::Installs => {
                let installed = installs::all(context, log, only)?;
                log.say(&installed)
            }
            Self::Simulation => simulation(context, log),
            Self::Storm => storm(context, log),
            Self::Sizes => targets::prove(context, log).map(drop),
            Self::FirstSteps => first_steps::run(context, log, options),
            Self::Fuzz => tools::fuzz(context, log, options),
            Self::Prices => tools::prices(context, log),
            Self::Mutants => tools::mutants(context, log, options),
        }
    }
}

fn proptests(context: &Context, log: &mut Log, options: &Options) -> Proved {
    let mut tests = release(context);
    tests
        .args(["--workspace", "--exclude", "xtask", "--lib", "--tests"])
        .env("PROPTEST_CASES", options.cases.to_string())
        // All histories of I13, and all of what other tests take a share of.
        .env("STEPWELL_ALL_HISTORIES", "1")
        .env(THOROUGH, "1");
    run_tests(log, &mut tests)
}

fn model_checker(context: &Context, log: &mut Log) -> Proved {
    let mut search = model::command(context, log, 10_000_000)?;
    log.run_unbounded(&mut search)?;
    model::faults_are_found(context, log, 1)?;
    model::abstractions_hide_no_fault(context, log)
}

fn interleavings(context: &Context, log: &mut Log) -> Proved {
    for program in context.integration_tests(log, "interleavings")? {
        let mut tests = program.command();
        run_tests(log, tests.args(["--include-ignored", "--nocapture"]))?;
    }
    threads::faults_are_found(context, log)
}

fn simulation(context: &Context, log: &mut Log) -> Proved {
    let mut tests = release(context);
    tests
        .args([
            "-p",
            "stepwell",
            "--bin",
            "stepwell",
            "--features",
            "restate",
        ])
        // One after the other: each takes all processors.
        .args(["simulation", "--", "--nocapture", "--test-threads", "1"])
        .env("STEPWELL_SEEDS", "100000");
    run_tests(log, &mut tests)
}

fn storm(context: &Context, log: &mut Log) -> Proved {
    let mut tests = release(context);
    tests
        .args(["-p", "stepwell-core", "--test", "run", "storm"])
        .env("STEPWELL_STORM", "100000");
    run_tests(log, &mut tests)
}

/// Runs the suites of other languages with the variable that has them, and their tests, do all.
fn languages() -> Proved {
    let mut suites = process::command(env::current_exe()?);
    suites.args(["test", "python", "kotlin", "swift-package", "web"]);
    let status = suites.env(THOROUGH, "1").status()?;
    ensure!(status.success(), "a suite failed");
    Ok(())
}

/// Tests in release with debug assertions, in a folder of their own: a release build made for use has none.
fn release(context: &Context) -> Command {
    let mut cargo = process::cargo();
    cargo
        .args(["test", "--release"])
        .current_dir(&context.root)
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_TARGET_DIR", context.target.join("prove"));
    cargo
}

/// Runs tests, of which there must be some, for as long as they take.
fn run_tests(log: &mut Log, tests: &mut Command) -> Proved {
    log.run_unbounded(tests)?;
    let passed = log.tests_passed()?;
    ensure!(passed > 0, "no test has this name");
    log.say(&format!("{passed} tests passed"))
}

/// Repeats the lines of the log in which tests report how much they did.
fn say_figures(log: &mut Log) -> Proved {
    let figures = [
        " kills (seed ",
        " harms (seed ",
        " seeds of the host, ",
        " catch-ups: ",
        " go on after ",
        " writes of ",
        " distinct states;",
        " orders of ",
    ];
    for line in fs::read_to_string(log.path())?.lines() {
        if figures.iter().any(|words| line.contains(words)) {
            log.say(line)?;
        }
    }
    Ok(())
}

/// `cargo xtask prove`: a step that fails does not stop the next.
pub(crate) fn run(context: &Context, options: &Options) -> anyhow::Result<ExitCode> {
    let steps = match &options.steps[..] {
        [] => Step::value_variants(),
        steps => steps,
    };
    let mut code = ExitCode::SUCCESS;
    for step in steps {
        let name = step.to_possible_value().unwrap_or_default();
        let name = name.get_name();
        println!("== {name}");
        let started = Instant::now();
        let mut log = Log::create(&context.scratch(), &format!("prove-{name}"))?;
        let result = step.prove(context, &mut log, options);
        say_figures(&mut log)?;
        let result = match result {
            Ok(()) => "proved".to_owned(),
            Err(error) => {
                println!("--- the last lines of {}", log.path().display());
                println!("{}\n---", log.tail(40)?);
                code = ExitCode::FAILURE;
                format!("failed: {error:#}")
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        println!("   {name}: {result} ({seconds:.1} s)");
    }
    Ok(code)
}
