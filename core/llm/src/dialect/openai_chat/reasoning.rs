use super::super::answer::whole;
use super::super::{AnswerLimit, DecodeError, HopIds, Sink, sealed};
use crate::MessageId;
use crate::event::weight;
use crate::event::{
    EncryptedValueSubtype, EventRef, Metadata, ReasoningEncryptedValue, ReasoningEnd,
    ReasoningMessageEnd, ReasoningMessageStart, ReasoningRole, ReasoningStart, Violation,
};
use crate::provider::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The fields that hold reasoning. If a provider fills both, they are equal, so only the first to arrive is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Field {
    /// DeepSeek's, xAI's, llama.cpp's.
    ReasoningContent,
    /// OpenRouter's, Groq's, Ollama's.
    Reasoning,
    /// Thinking parts of a content array: Mistral's.
    Content,
}

/// The maximum size of a span's details, in bytes.
const MOST_HELD: usize = 16 * 1024 * 1024;

/// The reasoning of one hop: at most one span of it is open, and its message with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Reasoning {
    /// The number of spans so far.
    count: usize,
    /// The last span's id, which is its message's too.
    id: MessageId,
    open: bool,
    field: Option<Field>,
    /// The data that the provider wants back with the last span.
    details: Vec<Metadata>,
    /// Whether `details` has data that no event has yet.
    unsaid: bool,
    /// The number of bytes in `details`.
    #[serde(default, skip_serializing_if = "is_nothing")]
    held: usize,
}

fn is_nothing(held: &usize) -> bool {
    *held == 0
}

impl Reasoning {
    /// Emits a delta of reasoning.
    pub(super) fn delta(
        &mut self,
        ids: &HopIds,
        field: Field,
        delta: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if delta.is_empty() || *self.field.get_or_insert(field) != field {
            return Ok(());
        }
        if !self.open {
            self.begin(ids, sink)?;
        }
        sink.event(EventRef::ReasoningMessageContent {
            message_id: &self.id,
            delta,
        })
    }

    /// Makes room for the items of a `reasoning_details` array. Gives no event.
    pub(super) fn reserve(&mut self, items: &[Metadata]) -> Result<(), DecodeError> {
        let fields = items.iter().flatten();
        let more = fields.map(|(key, value)| key.len() + weight(value));
        self.held = self.held.saturating_add(more.sum());
        if self.held > MOST_HELD {
            return Err(AnswerLimit::held(MOST_HELD).into());
        }
        Ok(())
    }

    /// Keeps the items of a `reasoning_details` array. They come in fragments, like the text. A fragment with the type
    /// and index of the one before continues its text, and its other fields count if they are not null.
    pub(super) fn keep(&mut self, items: Vec<Metadata>) {
        for item in items {
            self.unsaid = true;
            match self.details.last_mut() {
                Some(last) if goes_on(last, &item) => {
                    for (key, value) in item {
                        match (last.get_mut(&key), value) {
                            (_, Value::Null) => {}
                            (Some(Value::String(text)), Value::String(more))
                                if matches!(key.as_str(), "text" | "summary") =>
                            {
                                text.push_str(&more);
                            }
                            (_, value) => {
                                last.insert(key, value);
                            }
                        }
                    }
                }
                _ => self.details.push(item),
            }
        }
    }

    /// Returns whether there is any reasoning.
    pub(super) fn has_begun(&self) -> bool {
        self.count > 0 || self.unsaid
    }

    /// Returns whether [`close`](Self::close) would emit an event.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.open || self.unsaid
    }

    /// Ends the reasoning.
    pub(super) fn close(&mut self, ids: &HopIds, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.unsaid && !self.open && self.count == 0 {
            // Encrypted reasoning comes without text, and needs a message to belong to.
            self.begin(ids, sink)?;
        }
        self.say_details(ids, sink)?;
        if self.open {
            self.open = false;
            let message_id = self.id.clone();
            whole(
                sink,
                ReasoningMessageEnd {
                    message_id: message_id.clone(),
                    common: None,
                },
            )?;
            whole(
                sink,
                ReasoningEnd {
                    message_id,
                    common: None,
                },
            )?;
        }
        Ok(())
    }

    fn begin(&mut self, ids: &HopIds, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.count > 0 {
            self.say_details(ids, sink)?;
            self.details.clear();
            self.held = 0;
        }
        self.id = ids.reasoning(self.count);
        self.count += 1;
        self.open = true;
        let message_id = self.id.clone();
        whole(
            sink,
            ReasoningStart {
                message_id: message_id.clone(),
                common: None,
            },
        )?;
        whole(
            sink,
            ReasoningMessageStart {
                message_id,
                role: ReasoningRole::Reasoning,
                common: None,
            },
        )
    }

    fn say_details(&mut self, ids: &HopIds, sink: &mut dyn Sink) -> Result<(), Violation> {
        if !std::mem::take(&mut self.unsaid) {
            return Ok(());
        }
        whole(
            sink,
            ReasoningEncryptedValue {
                subtype: EncryptedValueSubtype::Message,
                entity_id: self.id.to_string(),
                encrypted_value: sealed::seal(&ids.provider, Dialect::OpenAiChat, &self.details),
                common: None,
            },
        )
    }
}

fn goes_on(last: &Metadata, item: &Metadata) -> bool {
    matches!(
        item.get("type").and_then(Value::as_str),
        Some("reasoning.text" | "reasoning.summary")
    ) && ["type", "index"]
        .iter()
        .all(|key| last.get(*key) == item.get(*key))
}
