//! An answer that was cut because its host died: its visible part stays.
//!
//! Owns no field; it changes the messages of the cut answer. Each call of a cut answer gets a result that says that the
//! call was not run.

use super::Turn;
use crate::event::Message;
use crate::run::protocol::{
    BlockContent, HookMoment, NOT_RUN, RunEvent, ToolCallUpdate, asked, has_result, is_new,
    mark_as_cut, mark_as_refused, not_run,
};
use crate::tool::{ToolFailure, ToolFailureKind};
use crate::transcript::ToolCallStatus;
use crate::{CallKey, MessageId, ToolCallId};

impl Turn {
    /// Returns the messages that the conversation has only in part, or not at all.
    pub(in crate::run) fn new_of(&self, shown: Vec<Message>) -> Vec<Message> {
        let shown = shown.into_iter();
        shown
            .filter(|message| is_new(&self.transcript, message))
            .collect()
    }

    /// Keeps the existing part of the hop's answer, adds `shown`, and marks both as cut.
    pub(in crate::run) fn cut_answer(&mut self, mut shown: Vec<Message>) {
        shown.iter_mut().for_each(mark_as_cut);
        if self.has_hook(HookMoment::AfterAnswer) {
            for message in &mut shown {
                mark_as_refused(message);
            }
        }
        self.mark_as_refused();
        self.mark_stream_as_cut();
        self.leave_stream();
        for message in shown {
            let asked = asked(&message);
            self.put_shown(message);
            for (index, (call, name)) in (0..).zip(asked) {
                self.put_not_run(index, call, name);
            }
        }
        self.abandon_calls(ToolFailureKind::Cancelled, NOT_RUN);
        self.settle_round();
    }

    /// Keeps a complete answer that is recorded, marked as cut.
    pub(in crate::run) fn cut_recorded_answer(&mut self) {
        for id in self.mark_stream_as_cut() {
            let message = self.transcript.message(&id).cloned();
            if let Some(message) = message.map(Box::new) {
                self.record(BlockContent::Message { message });
            }
        }
        self.abandon_calls(ToolFailureKind::Cancelled, NOT_RUN);
        self.settle_round();
    }

    /// Marks the messages of the stream, and returns their ids.
    fn mark_stream_as_cut(&mut self) -> Vec<MessageId> {
        let start = self.stream_start();
        let brought = self.transcript.messages().iter().skip(start);
        let ids: Vec<_> = brought.map(|message| message.id().clone()).collect();
        for id in &ids {
            if let Some(message) = self.transcript.message_mut(id) {
                mark_as_cut(message);
            }
        }
        ids
    }

    fn put_shown(&mut self, message: Message) {
        self.transcript.put(message.clone());
        let message = Box::new(message);
        self.record(BlockContent::Message { message });
    }

    /// A result for a call that has none, and that the run knows nothing of.
    fn put_not_run(&mut self, index: u32, call: ToolCallId, name: String) {
        let is_known = self.transcript.call_by_id(&call).is_some();
        if is_known || has_result(&self.transcript, &call) {
            return;
        }
        let failure = ToolFailure::new(ToolFailureKind::Cancelled, NOT_RUN);
        let hop = self.hop;
        self.event(RunEvent::ToolCallUpdate(ToolCallUpdate {
            call: CallKey { hop, index },
            tool_call_id: call.clone(),
            name,
            status: ToolCallStatus::Cancelled,
            result: Some(Err(failure)),
        }));
        self.put_shown(not_run(call));
    }
}
