//! What a write carries of a turn: its state as it is once the write is stored, without what the stored blocks hold.

use super::Turn;
use crate::conversation::{Conversation, MessagePart, Misfit, Outline, Row, result_shown_as};
use crate::event::Message;
use crate::run::protocol::{Block, ChangedRequest, EffectStage};
use crate::run::stored::Rebuilt;
use crate::{CallKey, MessageId, RunId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// What a checkpoint counts on: the stored turn that it belongs to, and how the conversation is rebuilt from it.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::run) struct Basis<'a> {
    /// The turn: the run id of its first hop.
    pub(in crate::run) turn: RunId,
    /// How many blocks of the turn are stored.
    pub(in crate::run) blocks: u64,
    outline: Outline,
    messages: Vec<MessagePart<'a>>,
    /// The messages that the turn's requests do not carry any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<Row<MessageId>>,
    /// The messages that a hook has put in the place of the hop's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed_messages: Option<Vec<Row<Message>>>,
    /// The hop's first request carried the shared state that the blocks have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_hop_state: bool,
}

impl Turn {
    /// Whether the turn has begun, and records blocks.
    pub(in crate::run) fn has_checkpoints(&self) -> bool {
        self.recorder.is_on() && !self.id.is_empty()
    }

    /// The turn as it is once the write that the host was given is stored, without its conversation, and how that is
    /// rebuilt.
    pub(in crate::run) fn once_stored(&self) -> (Self, Basis<'_>) {
        let Self {
            config,
            options,
            conversation,
            offer: _,
            id,
            ids,
            parent_run_id,
            hop,
            resume,
            effects,
            clocks,
            recorder,
            presenter,
            budget,
            network,
            access,
            window,
            steering,
            typed,
            empty,
            questions,
            changed_request,
            beginnings,
            hop_state,
            status,
            stopped_calls,
            broken_stream,
            is_of_another_dialect,
            follows_cut,
        } = self;
        let write = effects.given_write();
        let mut effects = effects.clone();
        let stored = recorder.stored_blocks(write.is_some());
        if let Some(write) = write {
            effects.remove(write);
            for freed in effects.freed(stored) {
                effects.set(freed, EffectStage::Given);
            }
        }
        let (conversation, outline) = conversation.outline(recorder.is_state_new());
        let basis = Basis {
            turn: id.clone(),
            blocks: stored,
            outline,
            messages: recorder.unrecorded(&self.stream_of()),
            left_out: self.conversation.rows_of_ids(window.left_out()),
            changed_messages: changed_request
                .messages
                .as_ref()
                .map(|messages| self.conversation.rows_of_messages(messages)),
            has_hop_state: hop_state.is_some(),
        };
        let turn = Self {
            config: config.clone(),
            options: options.clone(),
            conversation,
            offer: OnceLock::new(),
            id: id.clone(),
            ids: ids.clone(),
            parent_run_id: parent_run_id.clone(),
            hop: *hop,
            resume: resume.clone(),
            effects,
            clocks: clocks.clone(),
            recorder: recorder.once_stored(write.is_some()),
            presenter: presenter.clone(),
            budget: budget.clone(),
            network: network.clone(),
            access: access.clone(),
            window: window.leaving_out(Vec::new()),
            steering: steering.clone(),
            typed: typed.clone(),
            empty: *empty,
            questions: questions.clone(),
            changed_request: ChangedRequest {
                instructions: changed_request.instructions.clone(),
                messages: None,
            },
            beginnings: beginnings.clone(),
            hop_state: None,
            status: *status,
            stopped_calls: stopped_calls.clone(),
            broken_stream: broken_stream.clone(),
            is_of_another_dialect: *is_of_another_dialect,
            follows_cut: *follows_cut,
        };
        (turn, basis)
    }

    /// How many blocks the turn knows to be stored.
    pub(in crate::run) fn durable_blocks(&self) -> u64 {
        self.recorder.durable()
    }

    /// The blocks that are recorded and not stored.
    pub(in crate::run) fn waiting_blocks(&self) -> Vec<Block> {
        self.recorder.waiting().cloned().collect()
    }

    /// The calls whose results are in blocks, and not in the conversation yet.
    pub(in crate::run) fn live_results(&self, basis: &Basis<'_>) -> BTreeSet<CallKey> {
        let calls = self.conversation.recorded_calls(&basis.outline);
        calls.map(|call| call.key).collect()
    }

    /// A turn that was read without its conversation is given the rebuilt one.
    ///
    /// # Errors
    /// That is not the conversation of this turn.
    pub(in crate::run) fn fill(
        &mut self,
        basis: Basis<'_>,
        rebuilt: Rebuilt,
    ) -> Result<(), Misfit> {
        let Rebuilt {
            conversation,
            mut results,
        } = rebuilt;
        for key in self.live_results(&basis) {
            let Some(stored) = results.remove(&key) else {
                return Err(Misfit(format!(
                    "no block has the result of the call {key:?}"
                )));
            };
            if let Some(call) = self.conversation.call_mut(key) {
                call.result = Some(result_shown_as(call, stored.content, stored.failure));
            }
        }
        if basis.has_hop_state {
            self.hop_state = Some(conversation.shared_state().clone());
        }
        let outline: Conversation = std::mem::take(&mut self.conversation);
        let is_whole = !self.recorder.streams();
        self.conversation = outline.fill(conversation, basis.outline, basis.messages, is_whole)?;
        let left_out = self
            .conversation
            .of_rows(basis.left_out, |message| message.id().clone())?;
        self.window = self.window.leaving_out(left_out);
        if let Some(rows) = basis.changed_messages {
            let messages = self.conversation.of_rows(rows, Message::clone)?;
            self.changed_request.messages = Some(messages);
        }
        Ok(())
    }
}
