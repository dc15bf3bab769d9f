//! The conversation: messages, the calls of the hop in progress, and the reducer that events build it with.
//!
//! ```
//! use stepwell_core::transcript::Transcript;
//! use stepwell_core::event::{Event, EventRef, Message};
//!
//! let mut transcript = Transcript::new(vec![Message::user("m1", "Hello")]);
//! for json in [
//!     r#"{"type":"TEXT_MESSAGE_START","messageId":"m2"}"#,
//!     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"Hi!"}"#,
//!     r#"{"type":"TEXT_MESSAGE_END","messageId":"m2"}"#,
//! ] {
//!     let event: Event = serde_json::from_str(json)?;
//!     transcript.apply(EventRef::from(&event));
//! }
//! assert_eq!(transcript.text(), "Hi!");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod activity;
mod applied;
mod apply;
mod builder;
mod calls;
mod checkpoint;
mod compaction;
mod delta;
mod index;
mod json;
mod live_call;
mod patch;
mod snapshot_event;
mod stored;
mod summary;
pub(crate) mod token_estimate;

pub use applied::{Applied, Item};
pub(crate) use builder::{result_shown_as, without_edited_note};
pub use builder::{shown_result, tool_message, tool_messages};
pub(crate) use checkpoint::{MessagePart, Misfit, Outline, Row};
pub use compaction::{Compaction, SUMMARY};
pub(crate) use compaction::{is_instruction, is_sent};
pub use live_call::{LiveCall, ToolCallStatus};
pub use summary::{HopSummary, RunFailure};

use crate::event::{Message, ToolCall};
use crate::{CallKey, ToolCallId};
use index::Index;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A conversation: its messages, the message in progress, and the state shared with an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Transcript {
    messages: Vec<Message>,
    state: Value,
    calls: Vec<LiveCall>,
    hop: u32,
    next_call: u32,
    summary: HopSummary,
    /// The calls that only snapshots of the run brought, where the agent is from before 1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    brought: Option<Vec<ToolCallId>>,
    /// The part that requests no longer carry as it is.
    #[serde(skip_serializing_if = "Compaction::is_none")]
    compaction: Compaction,
    #[serde(skip_serializing_if = "Index::tells_nothing")]
    index: Index,
}

/// The stored form. Of the index it holds only what cannot be rebuilt from the messages.
#[derive(Deserialize)]
struct Stored {
    messages: Vec<Message>,
    state: Value,
    calls: Vec<LiveCall>,
    hop: u32,
    next_call: u32,
    summary: HopSummary,
    #[serde(default)]
    brought: Option<Vec<ToolCallId>>,
    #[serde(default)]
    compaction: Compaction,
    #[serde(default)]
    index: Index,
}

impl From<Stored> for Transcript {
    fn from(stored: Stored) -> Self {
        let Stored {
            messages,
            state,
            calls,
            hop,
            next_call,
            summary,
            brought,
            compaction,
            index,
        } = stored;
        let index = index.completed(&messages);
        Self {
            messages,
            state,
            calls,
            hop,
            next_call,
            summary,
            brought,
            compaction,
            index,
        }
    }
}

impl From<Vec<Message>> for Transcript {
    fn from(messages: Vec<Message>) -> Self {
        Self::new(messages)
    }
}

impl Default for Transcript {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Transcript {
    /// A conversation with these messages, oldest first, and an empty state.
    #[must_use]
    pub fn new(messages: Vec<Message>) -> Self {
        let index = Index::of(&messages);
        Self {
            messages,
            state: Value::Object(Map::new()),
            calls: Vec::new(),
            hop: 0,
            next_call: 0,
            summary: HopSummary::default(),
            brought: None,
            compaction: Compaction::default(),
            index,
        }
    }

    /// The same with this shared state.
    #[must_use]
    pub fn with_shared_state(mut self, state: Value) -> Self {
        self.state = state;
        self
    }

    /// The same with this part that requests no longer carry as it is.
    #[must_use]
    pub fn with_compaction(mut self, compaction: Compaction) -> Self {
        self.compaction = compaction;
        self
    }

    /// The part of the conversation that requests no longer carry as it is.
    #[must_use]
    pub fn compaction(&self) -> &Compaction {
        &self.compaction
    }

    pub(crate) fn set_compaction(&mut self, compaction: Compaction) {
        self.compaction = compaction;
    }

    /// The messages, oldest first. The last ones may still be streaming.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The state shared with an agent.
    #[must_use]
    pub fn shared_state(&self) -> &Value {
        &self.state
    }

    /// The calls of the hop in progress, in the order in which the model asked for them.
    #[must_use]
    pub fn calls(&self) -> &[LiveCall] {
        &self.calls
    }

    /// Returns the summary of the stream of the hop in progress: how it stopped, and what it cost.
    #[must_use]
    pub fn summary(&self) -> &HopSummary {
        &self.summary
    }

    /// All assistant text since the last user message, one message after the other.
    #[must_use]
    pub fn text(&self) -> String {
        self.since_last_user()
            .filter_map(|message| match message {
                Message::Assistant(message) => message.content.as_deref(),
                _ => None,
            })
            .collect()
    }

    /// All reasoning since the last user message.
    #[must_use]
    pub fn reasoning(&self) -> String {
        self.since_last_user()
            .filter_map(|message| match message {
                Message::Reasoning(message) => Some(message.content.as_str()),
                _ => None,
            })
            .collect()
    }

    /// All tool calls since the last user message.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.since_last_user()
            .filter_map(|message| match message {
                Message::Assistant(message) => Some(message.tool_calls.iter()),
                _ => None,
            })
            .flatten()
    }

    fn since_last_user(&self) -> impl Iterator<Item = &Message> {
        let start = self
            .messages
            .iter()
            .rposition(|message| matches!(message, Message::User(_)))
            .map_or(0, |at| at + 1);
        self.messages[start..].iter()
    }

    /// Appends a message. If its id is known, changes nothing and returns the id.
    pub(crate) fn push(&mut self, message: Message) -> Result<(), crate::MessageId> {
        if self.index.message(message.id()).is_some() {
            return Err(message.id().clone());
        }
        self.index.add(&message, self.messages.len());
        self.messages.push(message);
        Ok(())
    }

    /// Removes the last message if it is an unanswered user message with the same content as the new one: the user has
    /// sent a failed message again, and the model should read it once.
    pub(crate) fn make_way_for(&mut self, message: &Message) {
        let (Some(Message::User(last)), Message::User(next)) = (self.messages.last(), message)
        else {
            return;
        };
        let is_known = self.index.message(&next.id).is_some();
        if !is_known && last.content == next.content && last.name == next.name {
            self.messages.pop();
            self.index = Index::of(&self.messages);
        }
    }

    /// Returns the index of the message with this id.
    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        self.index.message(id)
    }

    /// Returns the index of the last message with this id.
    pub(crate) fn last_position(&self, id: &str) -> Option<usize> {
        if self.index.has_twins() {
            return self
                .messages
                .iter()
                .rposition(|message| *message.id() == *id);
        }
        self.index.message(id)
    }

    /// The message with this id.
    #[must_use]
    pub fn message(&self, id: &str) -> Option<&Message> {
        self.messages.get(self.index.message(id)?)
    }

    /// A new hop begins: its calls and its summary start empty.
    pub(crate) fn begin_hop(&mut self, hop: u32) {
        self.hop = hop;
        self.next_call = 0;
        self.calls.clear();
        self.summary = HopSummary::default();
        self.brought = None;
    }

    /// Drops the summary of the hop's stream, and the messages from `start` on that the stream began and left empty.
    /// Returns them, newest first.
    pub(crate) fn drop_empty_stream(&mut self, start: usize) -> Vec<Message> {
        self.summary = HopSummary::default();
        let mut dropped = Vec::new();
        while self.messages.len() > start
            && let Some(last) = self.messages.pop_if(|last| is_empty(last))
        {
            self.index.remove_last(last.id(), self.messages.len());
            dropped.push(last);
        }
        dropped
    }

    /// The live call with the provider's id; the last one, if it was used twice.
    #[must_use]
    pub fn call_by_id(&self, id: &str) -> Option<&LiveCall> {
        self.calls.iter().rev().find(|call| call.id == id)
    }

    /// The live call at `key`.
    #[must_use]
    pub fn call(&self, key: CallKey) -> Option<&LiveCall> {
        self.calls.iter().find(|call| call.key == key)
    }

    pub(crate) fn call_mut(&mut self, key: CallKey) -> Option<&mut LiveCall> {
        self.calls.iter_mut().find(|call| call.key == key)
    }

    pub(crate) fn calls_mut(&mut self) -> &mut [LiveCall] {
        &mut self.calls
    }

    /// Returns the call as its message holds it.
    #[must_use]
    pub fn tool_call(&self, call: &LiveCall) -> Option<&ToolCall> {
        Some(self.call_of_history(&call.id)?.1)
    }

    /// The call with this id as the history has it, and the message that it is in.
    pub(crate) fn call_of_history(&self, id: &str) -> Option<(&crate::MessageId, &ToolCall)> {
        let (message, position) = self.place_of_call(id)?;
        match self.messages.get(message)? {
            Message::Assistant(message) => Some((&message.id, message.tool_calls.get(position)?)),
            _ => None,
        }
    }

    /// The position of the message with this call, and of the call in it.
    pub(crate) fn place_of_call(&self, id: &str) -> Option<(usize, usize)> {
        self.index.call(id)
    }

    /// Puts the results of the live calls into the history, in the order of the calls, and clears the live calls.
    pub(crate) fn settle(&mut self, message_id: impl Fn(usize) -> crate::MessageId) {
        for message in tool_messages(&self.calls, message_id) {
            self.insert_result(message);
        }
        self.calls.clear();
    }
}

/// Returns whether a message has begun and holds nothing yet.
fn is_empty(message: &Message) -> bool {
    match message {
        Message::Assistant(said) => {
            said.content.as_deref().is_none_or(str::is_empty) && said.tool_calls.is_empty()
        }
        Message::Reasoning(thought) => {
            thought.content.is_empty() && thought.encrypted_value.is_none()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(transcript: &Transcript) -> Vec<&str> {
        let ids = transcript.messages().iter().map(|message| message.id());
        ids.map(|id| &**id).collect()
    }

    #[test]
    fn an_unanswered_message_that_is_said_again_stands_once() {
        let failed = Message::user("1", "Hello");
        for (again, expected) in [
            (Message::user("2", "Hello"), vec![]),
            (Message::user("2", "Well?"), vec!["1"]),
            // The same message is not added twice anyway.
            (Message::user("1", "Hello"), vec!["1"]),
        ] {
            let mut transcript = Transcript::new(vec![failed.clone()]);
            transcript.make_way_for(&again);
            assert_eq!(said(&transcript), expected, "{again:?}");
            let _ = transcript.push(again.clone());
            assert!(transcript.message(again.id()).is_some());
        }
        // A message that was answered stays.
        let answer = Message::Assistant(crate::event::AssistantMessage {
            id: "a".into(),
            content: Some("Hi".to_owned()),
            ..crate::event::AssistantMessage::default()
        });
        let mut transcript = Transcript::new(vec![failed, answer]);
        transcript.make_way_for(&Message::user("2", "Hello"));
        assert_eq!(said(&transcript), ["1", "a"]);
    }
}
