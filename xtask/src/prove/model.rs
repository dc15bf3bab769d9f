use super::Step;
use crate::suites::model;
use std::fs;

/// How many distinct states the long search sees at least.
const STATES: u64 = 10_000_000;

pub(super) const STEP: Step = Step {
    name: "model",
    about: "the model checker: ten million distinct states, and each fault found",
    run: |context, log, _| {
        let mut search = model::command(context, log, STATES)?;
        log.run_unbounded(&mut search)?;
        model::faults_are_found(context, log, 1)?;
        let text = fs::read_to_string(log.path())?;
        let line = text.lines().find(|line| line.contains(" distinct states;"));
        Ok(line.unwrap_or("no figure in the log").to_owned())
    },
};
