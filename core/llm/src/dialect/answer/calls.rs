//! The calls of an answer: each begins, brings its arguments, and ends.

use super::super::{AnswerLimit, DecodeError, Sink};
use super::call::Call;
use super::{AnswerWriter, whole};
use crate::event::{EventRef, REPLACED, ToolCallEnd, ToolCallResult, ToolCallStart, Violation};
use crate::{MessageId, ToolCallId};
use serde_json::json;

/// The most calls of one answer, in every dialect.
const MOST_CALLS: u32 = 1024;

/// Makes sure that an answer may have so many calls.
pub(in super::super) fn check_calls(count: usize) -> Result<(), AnswerLimit> {
    if count <= MOST_CALLS as usize {
        return Ok(());
    }
    Err(AnswerLimit::Calls { max: MOST_CALLS })
}

impl AnswerWriter {
    /// Checks whether so many more calls may begin: for frames with several, which must give all their events or none.
    pub(in super::super) fn room_for_calls(&self, more: usize) -> Result<(), DecodeError> {
        Ok(check_calls(self.calls.len().saturating_add(more))?)
    }

    /// A call begins: its slot. Its id is the provider's, or a made one where there is none or where another call of
    /// this answer has it.
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

    /// A piece of a call's arguments.
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

    /// The arguments of a call are these, whatever its pieces said. The app is told.
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

    /// A call is whole.
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

    /// Returns whether the provider gives `reason` as why the model stopped, which means that it asked for tools, and
    /// no call came.
    pub(in super::super) fn lacks_calls(&self, reason: &str) -> bool {
        self.calls.is_empty() && self.stop_reason.as_deref() == Some(reason)
    }

    /// Returns how many calls there are.
    pub(in super::super) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// A call is not to be run: what the model is told instead.
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

    /// Returns whether what has come of a call's arguments is whole.
    pub(in super::super) fn is_whole(&self, slot: usize, sink: &dyn Sink) -> bool {
        self.calls
            .get(slot)
            .is_none_or(|call| !call.open || sink.is_whole(&call.id))
    }
}
