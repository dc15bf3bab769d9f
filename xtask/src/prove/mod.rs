//! The long proofs, step by step; a failing one does not stop the next.

mod first_steps;
mod fuzz;
mod hosts;
mod installs;
mod kills;
mod model;
mod mutants;
mod prices;
mod proptests;
mod simulation;
mod sizes;
mod threads;

use crate::{context::Context, log::Log};
use anyhow::bail;
use std::{process::ExitCode, time::Instant};

/// What a step may be told.
pub(crate) struct Options {
    /// Cases for each property.
    pub(crate) cases: u32,
    /// How long each fuzz target runs.
    pub(crate) seconds: u32,
    /// Only this part of the mutants.
    pub(crate) shard: Option<mutants::Shard>,
    /// Only the mutants whose names, as cargo-mutants gives them, match this regular expression; only this fuzz target; only
    /// this install; only this page.
    pub(crate) only: Option<String>,
    /// Mutants that an earlier run found are not tried again, if the core is the same.
    pub(crate) go_on: bool,
}

/// One proof: what it gives is the line that says what was proved.
struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Context, &mut Log, &Options) -> anyhow::Result<String>,
}

const STEPS: &[Step] = &[
    proptests::STEP,
    model::STEP,
    threads::STEP,
    kills::STEP,
    hosts::STEP,
    installs::STEP,
    simulation::STEP,
    sizes::STEP,
    first_steps::STEP,
    fuzz::STEP,
    prices::STEP,
    mutants::STEP,
];

/// `cargo xtask prove [STEP…]`: all steps if none is named. `list` names them, and `2/8` is the shard for `mutants`.
pub(crate) fn run(
    context: &Context,
    words: &[String],
    mut options: Options,
) -> anyhow::Result<ExitCode> {
    let mut names = Vec::new();
    for word in words {
        if word == "list" {
            for step in STEPS {
                println!("{:<12} {}", step.name, step.about);
            }
            return Ok(ExitCode::SUCCESS);
        } else if word.contains('/') {
            options.shard = Some(word.parse()?);
        } else if STEPS.iter().any(|step| step.name == word) {
            names.push(word.as_str());
        } else {
            let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
            bail!("there is no step `{word}`; there are: {}", known.join(", "));
        }
    }
    let wanted = |step: &&Step| names.is_empty() || names.contains(&step.name);
    let mut table = Vec::new();
    for step in STEPS.iter().filter(wanted) {
        println!("== {}: {}", step.name, step.about);
        let started = Instant::now();
        let mut log = Log::create(&context.scratch(), &format!("prove-{}", step.name))?;
        let result = (step.run)(context, &mut log, &options);
        let seconds = started.elapsed().as_secs_f64();
        let line = match &result {
            Ok(line) => line.clone(),
            Err(error) => {
                log.write(&format!("error: {error:#}"))?;
                println!("--- the last lines of {}", log.path().display());
                println!("{}\n---", log.tail(40)?);
                format!("failed: {error}")
            }
        };
        println!("   {line} ({seconds:.1} s)");
        table.push((step.name, seconds, result.is_ok(), line));
    }
    println!("\n{:<12} {:>8}  result", "step", "seconds");
    for (name, seconds, _, line) in &table {
        println!("{name:<12} {seconds:>8.1}  {line}");
    }
    Ok(if table.iter().all(|(_, _, proved, _)| *proved) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
