//! The calls of an answer.

use super::super::{AnswerLimit, DecodeError, Sink};
use super::call::Call;
use super::{AnswerWriter, whole};
use crate::event::{EventRef, REPLACED, ToolCallEnd, ToolCallResult, ToolCallStart, Violation};
use crate::{MessageId, ToolCallId};
use serde_json::json;

/// The maximum number of calls in one answer, in every dialect.
const MOST_CALLS: u32 = 1024;

/// Checks that an answer may have this many calls.
pub(in super::super) fn check_calls(count: usize) -> Result<(), AnswerLimit> {
    if count <= MOST_CALLS as usize {
        return Ok(());
    }
    Err(AnswerLimit::Calls { max: MOST_CALLS })
}

impl AnswerWriter {
    /// Checks that this many more calls may begin, for frames with several calls, which must emit all their events or
    /// none.
    pub(in super::super) fn room_for_calls(&self, more: usize) -> Result<(), DecodeError> {
        Ok(check_calls(self.calls.len().saturating_add(more))?)
    }

    /// Begins a call and returns its slot. The call has the provider's id, or a generated one if the provider gave none
    /// or gave one that another call of this answer has.
    pub(in super::super) fn begin_call(
        &mut self,
        given: Option<&str>,
        name: &str,
        sink: &mut dyn Sink,
    ) -> Result<usize, DecodeError> {
        self.room_for_calls(1)?;
        let slot = self.calls.len();
        self.start(sink)?;
        self.close(sink)?;
        self.begin_message();
        let id = self.free_id(given, slot);
        self.calls.push(Call {
            id: id.clone(),
            open: true,
        });
        whole(
            sink,
            ToolCallStart {
                tool_call_id: id,
                tool_call_name: name.to_owned(),
                parent_message_id: Some(self.message_id.clone()),
                common: None,
            },
        )?;
        Ok(slot)
    }

    fn free_id(&self, given: Option<&str>, slot: usize) -> ToolCallId {
        let is_free = |id: &ToolCallId| self.calls.iter().all(|call| call.id != *id);
        let given = given.filter(|id| !id.is_empty()).map(ToolCallId::from);
        given
            .into_iter()
            .chain((slot..).map(|index| self.ids.tool_call(index)))
            .find(is_free)
            .unwrap_or_default()
    }

    /// Emits a delta of a call's arguments.
    #[inline]
    pub(in super::super) fn arguments(
        &self,
        slot: usize,
        delta: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        match self.calls.get(slot) {
            Some(call) if call.open && !delta.is_empty() => sink.event(EventRef::ToolCallArgs {
                tool_call_id: &call.id,
                delta,
            }),
            _ => Ok(()),
        }
    }

    /// Replaces the arguments of a call, and notifies the app.
    pub(in super::super) fn replace_arguments(
        &mut self,
        slot: usize,
        arguments: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let Some(call) = self.calls.get(slot).filter(|call| call.open) else {
            return Ok(());
        };
        let value = json!({"toolCallId": call.id, "arguments": arguments});
        self.custom(REPLACED, value, sink)
    }

    /// Ends a call.
    pub(in super::super) fn end_call(
        &mut self,
        slot: usize,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let Some(call) = self.calls.get_mut(slot).filter(|call| call.open) else {
            return Ok(());
        };
        call.open = false;
        let tool_call_id = call.id.clone();
        whole(
            sink,
            ToolCallEnd {
                tool_call_id,
                common: None,
            },
        )
    }

    /// Returns whether the stop reason is `reason`, which means that the model called tools, although there is no call.
    pub(in super::super) fn lacks_calls(&self, reason: &str) -> bool {
        self.calls.is_empty() && self.stop_reason.as_deref() == Some(reason)
    }

    /// Returns the number of calls.
    pub(in super::super) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Emits a result for a call that must not be run.
    pub(in super::super) fn answer_call(
        &self,
        slot: usize,
        content: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let Some(call) = self.calls.get(slot) else {
            return Ok(());
        };
        whole(
            sink,
            ToolCallResult {
                message_id: MessageId::of_result(&self.ids.run_id, slot),
                tool_call_id: call.id.clone(),
                content: content.into(),
                role: None,
                common: None,
            },
        )
    }

    /// Returns whether a call's arguments so far are complete.
    pub(in super::super) fn is_whole(&self, slot: usize, sink: &dyn Sink) -> bool {
        self.calls
            .get(slot)
            .is_none_or(|call| !call.open || sink.is_whole(&call.id))
    }
}
