//! A turn as a host with a store has it, and how the host continues from there.

use std::sync::Arc;
use stepwell_core::run::{Block, Input, RunConfig, RunMachine, SnapshotError, TurnStatus};
use stepwell_core::session::{Turn, TurnBlock};
use stepwell_core::transcript::Transcript;
use stepwell_core::{RunId, Timestamp};

/// A turn as its host has stored it.
#[derive(Clone, Debug)]
pub struct StoredTurn {
    /// The conversation before the turn.
    pub history: Transcript,
    /// The turn, with its blocks.
    pub turn: Turn,
    /// The newest checkpoint; `None` before the first write.
    pub checkpoint: Option<String>,
}

impl Default for StoredTurn {
    fn default() -> Self {
        Self {
            history: Transcript::default(),
            turn: Turn {
                id: RunId::default(),
                parent: None,
                history: None,
                message: None,
                status: TurnStatus::Streaming,
                outcome: None,
                created_at: Timestamp(0),
                updated_at: Timestamp(0),
                blocks: Vec::new(),
            },
            checkpoint: None,
        }
    }
}

impl StoredTurn {
    /// Notes an input that a run is about to get: its start is stored.
    pub fn note(&mut self, machine: &RunMachine, input: &Input<'_>) {
        if let Input::Start(start) = input
            && self.turn.id.is_empty()
        {
            self.history = machine.transcript().clone();
            self.turn.id = start.run_id.clone();
            self.turn.message.clone_from(&start.message);
        }
    }

    /// Stores a write: its blocks, and its checkpoint instead of the one before. Blocks that are stored already stay as
    /// they are.
    pub fn write(&mut self, blocks: Vec<Block>, checkpoint: String) {
        for block in blocks {
            if block.sequence >= self.turn.blocks.len() as u64 {
                let at = Timestamp(0);
                self.turn.blocks.push(TurnBlock { block, at });
            }
        }
        self.checkpoint = Some(checkpoint);
    }

    /// Returns whether the turn's start is known.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        !self.turn.id.is_empty()
    }

    /// The run, in the hands of a new host.
    ///
    /// # Errors
    /// The checkpoint does not fit what is stored.
    ///
    /// # Panics
    /// If nothing was written.
    pub fn revive(
        &self,
        config: &Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<RunMachine, SnapshotError> {
        let checkpoint = self.checkpoint.as_ref().expect("something was written");
        let history = self.history.clone();
        RunMachine::revive_from(checkpoint, history, &self.turn, Arc::clone(config), now)
    }

    /// Checks a write that a run has just emitted: reviving from it gives the same run as reviving from the complete
    /// snapshot.
    ///
    /// # Errors
    /// The place where the two differ.
    pub fn check(
        &self,
        machine: &RunMachine,
        blocks: &[Block],
        checkpoint: &str,
        config: &Arc<RunConfig>,
    ) -> Result<(), String> {
        let now = Timestamp(0);
        let mut stored = self.clone();
        // A write that was reported as failed may have been stored all the same.
        if let Some(first) = blocks.first() {
            let before = usize::try_from(first.sequence).unwrap_or(usize::MAX);
            stored.turn.blocks.truncate(before);
        }
        stored.write(blocks.to_vec(), checkpoint.to_owned());
        let whole = machine.snapshot();
        let whole = RunMachine::revive(&whole, Arc::clone(config), now);
        let whole = whole.map_err(|error| error.to_string())?.canonical();
        let back = stored.revive(config, now);
        let back = back.map_err(|error| error.to_string())?.canonical();
        if back == whole {
            return Ok(());
        }
        Err(difference(whole.snapshot(), back.snapshot()))
    }
}

/// The place at which two texts begin to differ.
pub(crate) fn difference(one: &str, other: &str) -> String {
    const AROUND: usize = 160;
    let same = one
        .chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other);
    let from = same.count().saturating_sub(AROUND / 2);
    let around = |text: &str| text.chars().skip(from).take(AROUND).collect::<String>();
    format!("…{}… became …{}…", around(one), around(other))
}
