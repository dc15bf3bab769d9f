//! Data that the provider wants back with a part of the answer, emitted as an event and marked with the provider.

use super::super::{Sink, sealed};
use super::{AnswerWriter, whole};
use crate::event::{EncryptedValueSubtype, ReasoningEncryptedValue, Violation};
use crate::provider::Dialect;
use serde::Serialize;

impl AnswerWriter {
    /// Emits the value that the provider needs back with the open or last stretch of reasoning. If there is none, a
    /// stretch without text begins.
    pub(in super::super) fn seal_reasoning<T: Serialize + ?Sized>(
        &mut self,
        dialect: Dialect,
        value: &T,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if self.reasonings == 0 {
            self.begin_reasoning(None, sink)?;
        }
        let id = self.reasoning_id.to_string();
        self.seal(EncryptedValueSubtype::Message, id, dialect, value, sink)
    }

    /// Returns the last stretch of reasoning, for [`seal_reasoning_at`](Self::seal_reasoning_at).
    pub(in super::super) fn last_reasoning(&self) -> Option<usize> {
        self.reasonings.checked_sub(1)
    }

    /// Emits what the provider wants back with a given stretch of reasoning.
    pub(in super::super) fn seal_reasoning_at<T: Serialize + ?Sized>(
        &self,
        index: usize,
        dialect: Dialect,
        value: &T,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let id = self.ids.reasoning(index).to_string();
        self.seal(EncryptedValueSubtype::Message, id, dialect, value, sink)
    }

    /// Emits the value that the provider needs back with the current message. A message without text begins if there is
    /// none.
    pub(in super::super) fn seal_message<T: Serialize + ?Sized>(
        &mut self,
        dialect: Dialect,
        value: &T,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if self.parted {
            self.begin_text(None, sink)?;
        }
        let id = self.message_id.to_string();
        self.seal(EncryptedValueSubtype::Message, id, dialect, value, sink)
    }

    /// Emits what the provider wants back with a call.
    pub(in super::super) fn seal_call<T: Serialize + ?Sized>(
        &mut self,
        slot: usize,
        dialect: Dialect,
        value: &T,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let Some(call) = self.calls.get(slot) else {
            return Ok(());
        };
        let id = call.id.to_string();
        self.seal(EncryptedValueSubtype::ToolCall, id, dialect, value, sink)
    }

    fn seal<T: Serialize + ?Sized>(
        &self,
        subtype: EncryptedValueSubtype,
        entity_id: String,
        dialect: Dialect,
        value: &T,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        whole(
            sink,
            ReasoningEncryptedValue {
                subtype,
                entity_id,
                encrypted_value: sealed::seal(&self.ids.provider, dialect, value),
                common: None,
            },
        )
    }
}
