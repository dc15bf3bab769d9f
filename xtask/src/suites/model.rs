use super::Suite;
use crate::{
    context::Context,
    faults::{self, Faulty},
    log::Log,
    workspace::{self, TestProgram},
};
use anyhow::Context as _;
use std::process::Command;

pub(super) const SUITE: Suite = Suite {
    name: "model",
    about: "the model checker: every order of events within bounds, a share of the states (core/docs/model-checker.md)",
    run: |context, log| {
        // The core without a fault, in the build that has the faults: a build for it alone would take as long as all
        // else here.
        let program = Faulty::built(context, log)?.program(PROGRAM)?;
        // Without the depth-first search, stateright and the runs without the abstractions: `prove model` adds these
        // second opinions.
        log.run(search(program, STATES, SHARE).args(["--exact", SMALL, "large_bounds_hold"]))?;
        faults_are_found(context, log, SHARE)
    },
};

/// Distinct states within the large bounds, twice what the fault that shows last takes. All of the small bounds are
/// searched besides.
const STATES: u64 = 14_000;

/// One in this number of states of the small bounds is restored and fed every mad input. The faults are all found with
/// three quarters of that.
const SHARE: u64 = 24;

const PROGRAM: &str = "model_check";

const SHARE_VARIABLE: &str = "STEPWELL_SHARE";

/// Breadth first through the small bounds.
const SMALL: &str = "small_bounds_hold_with_everything_checked_and_walk_every_edge";

const ABSTRACTIONS: &str = "faults::the_abstractions_neither_hide_nor_invent_a_fault";

/// Runs the search with each fault of a run.
pub(crate) fn faults_are_found(context: &Context, log: &mut Log, share: u64) -> anyhow::Result<()> {
    let mut tests = Faulty::built(context, log)?.commands(context, faults::RUN, PROGRAM)?;
    for (_, test) in &mut tests {
        test.env(SHARE_VARIABLE, share.to_string());
    }
    faults::are_found(log, tests, &["--exact", SMALL])
}

/// Runs the search with each fault of a run, with the abstractions and without: they change nothing of what is found.
pub(crate) fn abstractions_hide_no_fault(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let tests = Faulty::built(context, log)?.commands(context, faults::RUN, PROGRAM)?;
    for (fault, mut test) in tests {
        log.run(test.args(["--exact", ABSTRACTIONS, "--ignored"]))
            .with_context(|| format!("with the fault {}", fault.name))?;
    }
    Ok(())
}

/// Returns the search of the core as it is shipped, until it has seen this number of distinct states.
pub(crate) fn command(context: &Context, log: &mut Log, states: u64) -> anyhow::Result<Command> {
    let mut cargo = workspace::linting_cargo(context);
    cargo
        .args(["test", "--no-run", "--release", "-p", "stepwell-model"])
        .args(["--features", "search", "--test", PROGRAM]);
    let programs = workspace::programs(log, &mut cargo)?;
    let program = programs.first();
    let program = program.context("the model checker is no test program")?;
    Ok(search(program, states, 1))
}

fn search(program: &TestProgram, states: u64, share: u64) -> Command {
    let mut search = program.command();
    search
        .arg("--nocapture")
        .env("STEPWELL_STATES", states.to_string())
        .env(SHARE_VARIABLE, share.to_string());
    search
}
