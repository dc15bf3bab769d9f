use super::digest::{Digest, json};
use super::format::{
    JournalStep, Restoration, SnapshotOrigin, StepOutputs, output_name, write_end, write_gives,
    write_head, write_input, write_step,
};
use crate::run::{
    AnyRun, Effect, Input, Misuse, Output, RunConfig, RunMachine, SnapshotError, StoredTurn,
};
use crate::transcript::Transcript;
use crate::{ThreadId, Timestamp};
use serde_json::Value;
use std::sync::Arc;

/// Writes a run's journal. The host passes its inputs, and takes the outputs, through the writer.
///
/// The writer does no IO: [`take_lines`](Self::take_lines) returns the lines to append to a file. An input's line is
/// there before the machine handles the input. A host that writes the line at once therefore has it even if that input
/// crashes the program.
#[derive(Debug)]
pub struct JournalWriter {
    lines: String,
    config: Value,
    /// The entries so far.
    entries: usize,
    /// The outputs of the last entry so far.
    open: Option<Open>,
    /// The snapshots and checkpoints that the run may be restored from, the latest last.
    snapshots: Vec<(Digest, SnapshotOrigin)>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Open {
    outputs: Vec<String>,
    refused: Option<String>,
    digest: Digest,
}

/// The number of snapshots that are remembered by digest; an older one is recorded in full.
const SNAPSHOTS: usize = 64;

impl JournalWriter {
    /// A journal of a run that is new.
    #[must_use]
    pub fn new(config: &RunConfig, thread_id: &ThreadId, history: &Transcript) -> Self {
        Self::begin(config, thread_id, Some(history))
    }

    /// Creates the journal of a stored run, to be restored through [`restore`](Self::restore) or
    /// [`revive`](Self::revive).
    #[must_use]
    pub fn of_stored(config: &RunConfig, thread_id: &ThreadId) -> Self {
        Self::begin(config, thread_id, None)
    }

    fn begin(config: &RunConfig, thread_id: &ThreadId, history: Option<&Transcript>) -> Self {
        let config = json(config);
        let mut lines = String::new();
        let history = history.map(json);
        write_head(&mut lines, &config, thread_id, history.as_ref(), false);
        Self {
            lines,
            config,
            entries: 0,
            open: None,
            snapshots: Vec::new(),
            ended: false,
        }
    }

    /// Takes the lines that were written since the last call.
    #[must_use]
    pub fn take_lines(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }

    /// Records an input without passing it to a machine, for a host that wants the line in its file first. Call
    /// [`RunMachine::handle`] next, and then [`handled`](Self::handled).
    pub fn input(&mut self, input: &Input<'_>, now: Timestamp) {
        write_input(&mut self.lines, now, input);
        self.begin_entry();
    }

    /// Records the machine's result for the input.
    pub fn handled(&mut self, result: &Result<(), Misuse>) {
        if let (Some(open), Err(misuse)) = (&mut self.open, result) {
            open.refused = Some(misuse.to_string());
        }
    }

    /// Passes an input to the machine.
    ///
    /// # Errors
    /// As for [`RunMachine::handle`]; the journal records the error too.
    pub fn handle(
        &mut self,
        machine: &mut RunMachine,
        input: Input<'_>,
        now: Timestamp,
    ) -> Result<(), Misuse> {
        self.input(&input, now);
        let result = machine.handle(input, now);
        self.handled(&result);
        result
    }

    /// Takes the machine's next output. Call this until it returns `None`, after every input.
    #[must_use]
    pub fn poll_output(&mut self, machine: &mut RunMachine) -> Option<Output> {
        let output = machine.poll_output();
        match (&output, &mut self.open) {
            (Some(output), Some(open)) => {
                open.take(output);
                if let Output::Effect(_, Effect::Persist { checkpoint, .. }) = output {
                    self.remember(checkpoint, SnapshotOrigin::WrittenAt(self.entries));
                }
            }
            (None, Some(_)) => self.close_entry(machine),
            (_, None) => {}
        }
        output
    }

    /// Returns the run as text for storage. The journal recognises a run that is restored from this text.
    #[must_use]
    pub fn snapshot(&mut self, machine: &RunMachine) -> String {
        let snapshot = machine.snapshot();
        if self.open.is_none() {
            self.remember(&snapshot, SnapshotOrigin::TakenAfter(self.entries));
        }
        snapshot
    }

    /// Restores a stored run on the same host: see [`RunMachine::restore`].
    ///
    /// # Errors
    /// As for [`RunMachine::restore`]; nothing is recorded then.
    pub fn restore(
        &mut self,
        snapshot: &str,
        config: &Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<RunMachine, SnapshotError> {
        let machine = RunMachine::restore(snapshot, Arc::clone(config))?;
        let back = self.way_back(snapshot, config);
        write_step(&mut self.lines, now, &JournalStep::Restored(back));
        self.begin_entry();
        Ok(machine)
    }

    /// Revives a stored run on another host: see [`RunMachine::revive`].
    ///
    /// # Errors
    /// As for [`RunMachine::revive`]; nothing is recorded then.
    pub fn revive(
        &mut self,
        snapshot: &str,
        config: &Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<RunMachine, SnapshotError> {
        let machine = RunMachine::revive(snapshot, Arc::clone(config), now)?;
        let back = self.way_back(snapshot, config);
        write_step(&mut self.lines, now, &JournalStep::Revived(back));
        self.begin_entry();
        Ok(machine)
    }

    /// Revives a stored run on another host from its stored turn: see [`RunMachine::revive_from`].
    ///
    /// # Errors
    /// As for [`RunMachine::revive_from`]; nothing is recorded then.
    pub fn revive_from(
        &mut self,
        checkpoint: &str,
        history: Transcript,
        turn: &StoredTurn,
        config: &Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<RunMachine, SnapshotError> {
        let run = AnyRun::read_checkpoint(checkpoint, history, turn, Arc::clone(config))?;
        // A replay has no store: a checkpoint that the journal does not know is recorded as the complete run.
        let back = match self.known(checkpoint) {
            Some(origin) => self.way_back_from(origin, config),
            None => self.way_back_from(SnapshotOrigin::Snapshot(run.snapshot()), config),
        };
        write_step(&mut self.lines, now, &JournalStep::Revived(back));
        self.begin_entry();
        Ok(run.on_new_host(now).into())
    }

    /// Closes the journal: the run is over, or this host leaves it. No entry may follow.
    pub fn end(&mut self, machine: &RunMachine) {
        self.close_entry(machine);
        if !std::mem::replace(&mut self.ended, true) {
            write_end(&mut self.lines, Digest::of_run(machine));
        }
    }

    fn begin_entry(&mut self) {
        self.entries += 1;
        self.open = Some(Open::default());
    }

    fn close_entry(&mut self, machine: &RunMachine) {
        if let Some(open) = self.open.take() {
            write_gives(&mut self.lines, &open.gives(machine));
        }
    }

    fn remember(&mut self, snapshot: &str, origin: SnapshotOrigin) {
        if self.snapshots.len() == SNAPSHOTS {
            self.snapshots.remove(0);
        }
        self.snapshots.push((Digest::of_text(snapshot), origin));
    }

    /// Returns the origin of a snapshot or a checkpoint, if known.
    fn known(&self, text: &str) -> Option<SnapshotOrigin> {
        let digest = Digest::of_text(text);
        let known = self.snapshots.iter().rev().find(|known| known.0 == digest);
        known.map(|(_, origin)| origin.clone())
    }

    fn way_back(&mut self, snapshot: &str, config: &RunConfig) -> Restoration {
        let known = self.known(snapshot);
        let from = known.unwrap_or_else(|| SnapshotOrigin::Snapshot(snapshot.to_owned()));
        self.way_back_from(from, config)
    }

    fn way_back_from(&mut self, from: SnapshotOrigin, config: &RunConfig) -> Restoration {
        let value = json(config);
        let is_new = value != self.config;
        self.config = value;
        Restoration {
            from,
            config: is_new.then(|| Box::new(config.clone())),
        }
    }
}

impl Open {
    fn take(&mut self, output: &Output) {
        let mut value = json(output);
        forget_labels(&mut value);
        self.digest.value(&value);
        self.outputs.push(output_name(output, &value));
    }

    fn gives(self, machine: &RunMachine) -> StepOutputs {
        StepOutputs {
            state: machine.state(),
            outputs: self.outputs,
            refused: self.refused,
            digest: self.digest,
        }
    }
}

/// Removes labels, which come from the app's own code: a replay does not have it.
fn forget_labels(output: &mut Value) {
    let blocks = output.pointer_mut("/effect/1/persist/blocks");
    for block in blocks.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(content) = block.get_mut("content").and_then(Value::as_object_mut) {
            content.remove("label");
        }
    }
    let pending = output.pointer_mut("/event/pending/pending");
    for pending in pending.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(pending) = pending.as_object_mut() {
            pending.remove("label");
        }
    }
}

/// Takes all outputs of a machine, and says what they are.
pub(super) fn take_all(
    machine: &mut RunMachine,
    refused: Option<&Misuse>,
    mut each: impl FnMut(&RunMachine, Output),
) -> StepOutputs {
    let mut open = Open {
        refused: refused.map(ToString::to_string),
        ..Open::default()
    };
    while let Some(output) = machine.poll_output() {
        open.take(&output);
        each(machine, output);
    }
    open.gives(machine)
}
