use super::digest::Digest;
use super::format::{
    Journal, JournalEnd, JournalEntry, JournalStep, Restoration, SnapshotOrigin, StepOutputs,
    write_end, write_gives_in_full, write_step,
};
use super::writer::take_all;
use crate::Timestamp;
use crate::run::{Effect, EffectId, Outcome, Output, RunConfig, RunMachine, StateKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Replayed {
    /// The number of inputs, including restores and revivals.
    pub inputs: usize,
    /// The effects in the order in which they were given out.
    pub effects: Vec<EffectId>,
    /// The number of events.
    pub events: usize,
    /// The states that the run went through.
    pub states: Vec<StateKind>,
    /// The turn's outcome, if it has ended.
    pub outcome: Option<Outcome>,
    /// The digest of the run at the end.
    pub digest: Digest,
    /// The end of the journal.
    pub ending: JournalEnd,
}

/// The place where a replay differs from the journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the replay differs at input {number} (`{name}`, at {} ms) in {what}: expected {expected}, got {got}",
    at.0
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Divergence {
    /// The input, counted from 1; one more than there are where only the end differs.
    pub number: usize,
    /// The name of the step: the input's name, `restored`, `revived` or `end`.
    pub name: String,
    /// When.
    pub at: Timestamp,
    /// The part that differs.
    pub what: &'static str,
    /// The value in the journal.
    pub expected: String,
    /// The value of the replay.
    pub got: String,
}

/// One entry that was replayed.
pub(super) struct Lived<'a> {
    pub(super) entry: &'a JournalEntry,
    pub(super) outputs: Vec<Output>,
    pub(super) gives: StepOutputs,
}

impl Journal {
    /// Replays the journal: the same inputs must give the same states, outputs and end.
    ///
    /// # Errors
    /// The first input whose result differs.
    pub fn replay(&self) -> Result<Replayed, Box<Divergence>> {
        self.replay_with(self.config.clone())
    }

    /// Replays the journal with another configuration: one with a changed limit, or another tool.
    ///
    /// # Errors
    /// The first input whose result differs.
    pub fn replay_with(&self, config: RunConfig) -> Result<Replayed, Box<Divergence>> {
        let mut effects = Vec::new();
        let mut events = 0;
        let mut states = vec![StateKind::Idle];
        let mut number = 0;
        let last = self.live(config, |lived| {
            number += 1;
            if let Some(expected) = &lived.entry.gives {
                compare(number, lived.entry, expected, &lived.gives)?;
            }
            for output in &lived.outputs {
                match output {
                    Output::Effect(id, effect) if asks(effect) => effects.push(*id),
                    Output::Effect(..) | Output::Moved(_) => {}
                    Output::Event(_) => events += 1,
                }
            }
            if states.last() != Some(&lived.gives.state) {
                states.push(lived.gives.state);
            }
            Ok(())
        })?;
        let digest = Digest::of_run(&last);
        if let JournalEnd::Closed(expected) = self.ending
            && expected != digest
        {
            let at = self.entries.last().map(|entry| entry.at);
            return Err(Box::new(Divergence {
                number: number + 1,
                name: "end".to_owned(),
                at: at.unwrap_or_default(),
                what: "the digest of how the run stands at its end",
                expected: expected.to_string(),
                got: digest.to_string(),
            }));
        }
        Ok(Replayed {
            inputs: number,
            effects,
            events,
            states,
            outcome: last.outcome().cloned(),
            digest,
            ending: self.ending,
        })
    }

    /// Returns the same inputs with the results of this replay instead of the recorded ones.
    #[must_use]
    pub fn rewritten(&self) -> Self {
        let mut gives = Vec::with_capacity(self.entries.len());
        let last = self.live(self.config.clone(), |lived| {
            gives.push(lived.gives);
            Ok(())
        });
        let mut journal = self.clone();
        // After a stored run that can no longer be restored, nothing follows.
        journal.entries.truncate(gives.len());
        for (entry, gives) in journal.entries.iter_mut().zip(gives) {
            entry.gives = Some(gives);
        }
        if let (JournalEnd::Closed(digest), Ok(machine)) = (&mut journal.ending, last) {
            *digest = Digest::of_run(&machine);
        }
        journal
    }

    /// Returns the journal as text, with the full outputs of each input next to their names: the events, the blocks,
    /// and the requests in displayable form, without keys. It serves to inspect a run without replaying it. The text is
    /// still a journal, which [`parse`](Self::parse) reads like any other.
    ///
    /// # Errors
    /// The first input whose result differs.
    pub fn to_full_text(&self) -> Result<String, Box<Divergence>> {
        let mut text = self.head_text();
        let mut number = 0;
        self.live(self.config.clone(), |lived| {
            number += 1;
            write_step(&mut text, lived.entry.at, &lived.entry.step);
            if let Some(expected) = &lived.entry.gives {
                compare(number, lived.entry, expected, &lived.gives)?;
                write_gives_in_full(&mut text, &lived.gives, &lived.outputs);
            }
            Ok(())
        })?;
        if let JournalEnd::Closed(digest) = self.ending {
            write_end(&mut text, digest);
        }
        Ok(text)
    }

    /// Replays the entries one by one, and returns the machine at the end.
    pub(super) fn live(
        &self,
        config: RunConfig,
        mut each: impl FnMut(Lived<'_>) -> Result<(), Box<Divergence>>,
    ) -> Result<RunMachine, Box<Divergence>> {
        let mut config = Arc::new(config);
        let mut snapshots = self.wanted();
        let thread_id = self.thread_id.clone();
        let history = self.history.clone().unwrap_or_default();
        let mut machine = RunMachine::new(Arc::clone(&config), thread_id, history);
        if let Some(place) = snapshots.get_mut(&(0, Place::Taken)) {
            *place = machine.snapshot();
        }
        for (index, entry) in self.entries.iter().enumerate() {
            let number = index + 1;
            let mut refused = None;
            match &entry.step {
                JournalStep::Input(input) => {
                    refused = machine.handle(input.clone(), entry.at).err();
                }
                JournalStep::Restored(back) => {
                    let (snapshot, config) = way_back(back, &mut config, &snapshots);
                    let restored = RunMachine::restore(snapshot, config);
                    machine = restored.map_err(|error| lost(number, entry, &error))?;
                }
                JournalStep::Revived(back) => {
                    let (snapshot, config) = way_back(back, &mut config, &snapshots);
                    let revived = RunMachine::revive(snapshot, config, entry.at);
                    machine = revived.map_err(|error| lost(number, entry, &error))?;
                }
            }
            let mut outputs = Vec::new();
            let gives = take_all(&mut machine, refused.as_ref(), |machine, output| {
                // Restoring from the checkpoint gives the same run as restoring from the full snapshot.
                if let Output::Effect(_, Effect::Persist { .. }) = &output
                    && let Some(place) = snapshots.get_mut(&(number, Place::Written))
                {
                    *place = machine.snapshot();
                }
                outputs.push(output);
            });
            if let Some(place) = snapshots.get_mut(&(number, Place::Taken)) {
                *place = machine.snapshot();
            }
            each(Lived {
                entry,
                outputs,
                gives,
            })?;
        }
        Ok(machine)
    }

    /// Returns the places of the snapshots that the run is restored or revived from.
    fn wanted(&self) -> BTreeMap<(usize, Place), String> {
        let steps = self.entries.iter().filter_map(|entry| match &entry.step {
            JournalStep::Restored(back) | JournalStep::Revived(back) => place(&back.from),
            JournalStep::Input(_) => None,
        });
        steps.map(|place| (place, String::new())).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Taken,
    Written,
}

fn place(origin: &SnapshotOrigin) -> Option<(usize, Place)> {
    match origin {
        SnapshotOrigin::TakenAfter(entry) => Some((*entry, Place::Taken)),
        SnapshotOrigin::WrittenAt(entry) => Some((*entry, Place::Written)),
        SnapshotOrigin::Snapshot(_) => None,
    }
}

fn way_back<'a>(
    back: &'a Restoration,
    config: &mut Arc<RunConfig>,
    snapshots: &'a BTreeMap<(usize, Place), String>,
) -> (&'a str, Arc<RunConfig>) {
    if let Some(changed) = &back.config {
        *config = Arc::new(RunConfig::clone(changed));
    }
    let snapshot = match &back.from {
        SnapshotOrigin::Snapshot(snapshot) => snapshot.as_str(),
        from => place(from)
            .and_then(|place| snapshots.get(&place))
            .map_or("", String::as_str),
    };
    (snapshot, Arc::clone(config))
}

/// Returns whether the host answers this effect. Closing a stream, cancelling an answer or a tool, and answering
/// a tool need no answer.
fn asks(effect: &Effect) -> bool {
    !matches!(
        effect,
        Effect::CloseStream
            | Effect::CancelAnswer { .. }
            | Effect::CancelTool
            | Effect::AnswerTool { .. }
    )
}

fn lost(number: usize, entry: &JournalEntry, error: &dyn std::error::Error) -> Box<Divergence> {
    Box::new(Divergence {
        number,
        name: entry.step.name(),
        at: entry.at,
        what: "the snapshot that the run comes back from",
        expected: "one that can be read".to_owned(),
        got: error.to_string(),
    })
}

fn compare(
    number: usize,
    entry: &JournalEntry,
    expected: &StepOutputs,
    got: &StepOutputs,
) -> Result<(), Box<Divergence>> {
    let differs = |what, expected: String, got: String| {
        Err(Box::new(Divergence {
            number,
            name: entry.step.name(),
            at: entry.at,
            what,
            expected,
            got,
        }))
    };
    let refusal = |gives: &StepOutputs| gives.refused.clone().unwrap_or_else(|| "taken".to_owned());
    if expected.refused != got.refused {
        return differs("whether it is taken", refusal(expected), refusal(got));
    }
    let longest = expected.outputs.len().max(got.outputs.len());
    let output = |gives: &StepOutputs, at: usize| match gives.outputs.get(at) {
        Some(name) => format!("`{name}` as output {}", at + 1),
        None => format!("no output {}", at + 1),
    };
    let mut outputs = 0..longest;
    if let Some(at) = outputs.find(|at| expected.outputs.get(*at) != got.outputs.get(*at)) {
        return differs("its outputs", output(expected, at), output(got, at));
    }
    if expected.state != got.state {
        return differs(
            "the state after it",
            expected.state.to_string(),
            got.state.to_string(),
        );
    }
    if expected.digest != got.digest {
        return differs(
            "what its outputs hold",
            format!("the digest {}", expected.digest),
            got.digest.to_string(),
        );
    }
    Ok(())
}
