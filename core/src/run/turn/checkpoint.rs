//! The checkpoint that a write carries: the state of the turn once the write is stored, without the content of the
//! stored blocks.
//!
//! Owns no field. [`Turn::fill`] gives a turn that was just read the conversation that the blocks rebuild. A turn from
//! a checkpoint continues exactly as the turn that wrote the checkpoint.

use super::Turn;
use crate::run::parts::Effects;
use crate::run::protocol::{Block, ChangedRequest, EffectStage};
use crate::run::stored::Rebuilt;
use crate::transcript::{MessagePart, Misfit, Outline, Row, Transcript, result_shown_as};
use crate::{CallKey, RunId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The basis of a checkpoint: the stored turn that it belongs to, and how the conversation is rebuilt from it.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::run) struct Basis<'a> {
    /// The turn: the run id of its first hop.
    pub(in crate::run) turn: RunId,
    /// The number of the turn's blocks that are stored.
    pub(in crate::run) blocks: u64,
    outline: Outline,
    messages: Vec<MessagePart<'a>>,
    /// The messages that a hook put instead of the hop's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed_messages: Option<Vec<Row>>,
    /// The hop's first request carried the shared state that the blocks have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_hop_state: bool,
}

impl Turn {
    /// Returns whether the turn has begun, and records blocks.
    pub(in crate::run) fn has_checkpoints(&self) -> bool {
        self.recorder.is_on() && !self.id.is_empty()
    }

    /// Returns the turn as it is once the host has stored the write that it was given, without its conversation, and what
    /// rebuilds the conversation.
    pub(in crate::run) fn once_stored(&self) -> (Self, Basis<'_>) {
        let is_writing = self.effects.given_write().is_some();
        let stored = self.recorder.stored_blocks(is_writing);
        let (transcript, outline) = self.transcript.outline(self.recorder.is_state_new());
        let basis = self.basis(stored, outline);
        // Every field is named, so that a new one makes its author decide.
        let turn = Self {
            transcript,
            effects: self.effects_once_stored(stored),
            recorder: self.recorder.once_stored(is_writing),
            window: self.window.clone(),
            // The basis has the messages.
            changed_request: ChangedRequest {
                instructions: self.changed_request.instructions.clone(),
                messages: None,
            },
            hop_state: None,
            setup: self.setup.once_stored(),
            route: self.route.clone(),
            id: self.id.clone(),
            ids: self.ids.clone(),
            parent_run_id: self.parent_run_id.clone(),
            hop: self.hop,
            resume: self.resume.clone(),
            clocks: self.clocks.clone(),
            presenter: self.presenter.clone(),
            budget: self.budget.clone(),
            network: self.network.clone(),
            tries: self.tries.clone(),
            access: self.access.clone(),
            steering: self.steering.clone(),
            typed: self.typed.clone(),
            empty: self.empty,
            questions: self.questions.clone(),
            beginnings: self.beginnings.clone(),
            status: self.status,
            stopped_calls: self.stopped_calls.clone(),
            broken_stream: self.broken_stream.clone(),
            background: self.background.clone(),
            draft: self.draft.clone(),
            comeback: self.comeback,
        };
        (turn, basis)
    }

    /// Returns the effects without the write that the host was given, and with those given that wait for it.
    fn effects_once_stored(&self, stored: u64) -> Effects {
        let mut effects = self.effects.clone();
        if let Some(write) = self.effects.given_write() {
            effects.remove(write);
            for freed in effects.freed(stored) {
                effects.set(freed, EffectStage::Given);
            }
        }
        effects
    }

    /// Returns what rebuilds the conversation from this many stored blocks.
    fn basis(&self, stored: u64, outline: Outline) -> Basis<'_> {
        let changed = self.changed_request.messages.as_ref();
        Basis {
            turn: self.id.clone(),
            blocks: stored,
            outline,
            messages: self.recorder.unrecorded(&self.stream_of()),
            changed_messages: changed.map(|messages| self.transcript.rows_of_messages(messages)),
            has_hop_state: self.hop_state.is_some(),
        }
    }

    /// Returns the number of blocks that the turn knows to be stored.
    pub(in crate::run) fn durable_blocks(&self) -> u64 {
        self.recorder.durable()
    }

    /// The blocks that are recorded and not stored.
    pub(in crate::run) fn waiting_blocks(&self) -> Vec<Block> {
        self.recorder.waiting().cloned().collect()
    }

    /// The calls whose results are in blocks, and not in the conversation yet.
    pub(in crate::run) fn live_results(&self, basis: &Basis<'_>) -> BTreeSet<CallKey> {
        let calls = self.transcript.recorded_calls(&basis.outline);
        calls.map(|call| call.key).collect()
    }

    /// Gives the rebuilt conversation to a turn that was read without one.
    ///
    /// # Errors
    /// The rebuilt conversation is not that of this turn.
    pub(in crate::run) fn fill(
        &mut self,
        basis: Basis<'_>,
        rebuilt: Rebuilt,
    ) -> Result<(), Misfit> {
        let Rebuilt {
            transcript,
            mut results,
        } = rebuilt;
        for key in self.live_results(&basis) {
            let Some(stored) = results.remove(&key) else {
                return Err(Misfit(format!(
                    "no block has the result of the call {key:?}"
                )));
            };
            if let Some(call) = self.transcript.call_mut(key) {
                call.result = Some(result_shown_as(call, stored.content, stored.failure));
            }
        }
        if basis.has_hop_state {
            self.hop_state = Some(transcript.shared_state().clone());
        }
        let outline: Transcript = std::mem::take(&mut self.transcript);
        let is_whole = !self.recorder.streams();
        self.transcript = outline.fill(transcript, basis.outline, basis.messages, is_whole)?;
        if let Some(rows) = basis.changed_messages {
            let messages = self.transcript.messages_of_rows(rows)?;
            self.changed_request.messages = Some(messages);
        }
        Ok(())
    }
}
