//! Limits the size of one answer.

use crate::dialect::{AnswerLimit, ITEM};
use crate::event::weight;
use crate::event::{Event, EventRef, Message, MessageContent, REPLACED};
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// The limits of one answer, which is one stream over all its connections.
///
/// Without them, a model that never stops or a malicious agent would fill the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerLimits {
    /// The most bytes of text, reasoning, arguments of calls, results, activities and shared state, all together. Each
    /// message, call and other item that begins counts as 256 bytes more.
    pub bytes: u64,
    /// The most calls that an answer may leave without a result. Those that an agent answers itself do not count. The
    /// providers' own formats are read up to 1,024 calls in any case.
    pub calls: u32,
}

impl Default for AnswerLimits {
    /// Returns 32 MiB and 1,000 calls.
    ///
    /// A million tokens, more than any model writes at a time, are some 5 MB. An agent that works for hours and reports
    /// the results of its own tools needs more. No model makes a thousand calls at once.
    fn default() -> Self {
        Self {
            bytes: 32 << 20,
            calls: 1_000,
        }
    }
}

/// The size of an answer so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Meter {
    limits: AnswerLimits,
    bytes: u64,
    calls: u32,
}

impl Meter {
    pub(super) fn new(limits: AnswerLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Counts an event. Returns whether there is room for it; after the first event without room there is none for any
    /// other.
    #[inline]
    pub(super) fn takes(&mut self, event: EventRef<'_>) -> bool {
        let more = match event {
            EventRef::TextMessageContent { delta, .. }
            | EventRef::ReasoningMessageContent { delta, .. }
            | EventRef::ToolCallArgs { delta, .. } => delta.len() as u64,
            EventRef::Whole(event) => self.whole(event),
        };
        self.bytes = self.bytes.saturating_add(more);
        self.is_within()
    }

    /// Returns whether the answer has stayed within its limits.
    #[inline]
    pub(super) fn is_within(&self) -> bool {
        self.bytes <= self.limits.bytes && self.calls <= self.limits.calls
    }

    fn whole(&mut self, event: &Event) -> u64 {
        if !self.is_within() {
            return 0;
        }
        let length = |text: &str| text.len() as u64;
        match event {
            Event::TextMessageContent(event) => length(&event.delta),
            Event::ReasoningMessageContent(event) => length(&event.delta),
            Event::ToolCallArgs(event) => length(&event.delta),
            Event::ReasoningEncryptedValue(event) => length(&event.encrypted_value),
            Event::TextMessageStart(_)
            | Event::ReasoningStart(_)
            | Event::ReasoningMessageStart(_)
            | Event::StepStarted(_)
            | Event::SubagentStarted(_) => ITEM,
            Event::ToolCallStart(_) => {
                self.calls = self.calls.saturating_add(1);
                ITEM
            }
            Event::ToolCallResult(event) => {
                self.calls = self.calls.saturating_sub(1);
                ITEM.saturating_add(size(&event.content))
            }
            Event::Custom(event) if event.name == REPLACED => weight(&event.value) as u64,
            _ => 0,
        }
    }

    /// Notes that an event replaced `before` bytes of the conversation by `after` bytes.
    pub(super) fn replaced(&mut self, before: u64, after: u64) {
        self.bytes = self.bytes.saturating_sub(before).saturating_add(after);
    }

    /// Makes sure of the same.
    pub(super) fn check(&self) -> Result<(), AnswerLimit> {
        if self.is_within() {
            return Ok(());
        }
        let AnswerLimits { bytes, calls } = self.limits;
        Err(if self.bytes > bytes {
            AnswerLimit::Bytes { max: bytes }
        } else {
            AnswerLimit::Calls { max: calls }
        })
    }
}

/// Returns the present size in bytes of the shared state or activity that this event changes. Returns `None` for an
/// event that changes neither.
pub(super) fn changeable(event: &Event, transcript: &Transcript) -> Option<u64> {
    let activity = |id: &str| match transcript.message(id) {
        Some(Message::Activity(activity)) => activity
            .content
            .values()
            .fold(ITEM, |sum, value| sum.saturating_add(weight(value) as u64)),
        _ => 0,
    };
    match event {
        Event::StateSnapshot(_) | Event::StateDelta(_) => {
            Some(weight(transcript.shared_state()) as u64)
        }
        Event::ActivitySnapshot(event) => Some(activity(&event.message_id)),
        Event::ActivityDelta(event) => Some(activity(&event.message_id)),
        _ => None,
    }
}

fn size(content: &MessageContent) -> u64 {
    match content {
        MessageContent::Text(text) => text.len() as u64,
        MessageContent::Parts(_) => {
            let value = serde_json::to_value(content).unwrap_or_default();
            weight(&value) as u64
        }
    }
}
