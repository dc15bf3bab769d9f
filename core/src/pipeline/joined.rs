//! Text, reasoning and arguments that a snapshot of an AG-UI run has in part, and that the stream continues. A backend
//! lets a client join a run that way.
//!
//! The conversation takes the part from the snapshot. An app that only appends deltas never sees it, so the listener
//! gets a snapshot without the part, and then the part as a delta. An app that applies snapshots has the same result.

use crate::event::{Event, EventRef, Message, MessagesSnapshot, Order};
use crate::transcript::{Item, Transcript};
use serde::{Deserialize, Serialize};

/// The most items of one snapshot that are remembered, the newest: the others are over.
const MAX_ITEMS: usize = 16;

/// The ids of the messages and calls that a snapshot of the run has brought, and that have not begun in the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Joined(Vec<String>);

/// The events for the listener instead of an event that concerns such items.
#[derive(Debug, PartialEq)]
pub(super) struct Shown {
    /// The snapshot without the parts.
    pub(super) snapshot: Event,
    /// The parts: each is what its item has from this byte on.
    pub(super) parts: Vec<(Part, usize)>,
}

/// An item whose content comes in deltas, by the id of its message or call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Text(String),
    Reasoning(String),
    Arguments(String),
}

impl Joined {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes an event that is about to be applied. Returns the events for the listener in addition to the start of an
    /// item, or instead of a snapshot.
    pub(super) fn hear(
        &mut self,
        event: &Event,
        order: &Order,
        transcript: &Transcript,
    ) -> Option<Shown> {
        let started = match event {
            Event::RunStarted(_) => {
                self.0.clear();
                return None;
            }
            Event::MessagesSnapshot(snapshot) => {
                self.remember(&snapshot.messages, transcript);
                return ahead(snapshot, order, transcript);
            }
            Event::TextMessageStart(start) => Part::Text(start.message_id.to_string()),
            Event::ReasoningMessageStart(start) => Part::Reasoning(start.message_id.to_string()),
            Event::ToolCallStart(start) => Part::Arguments(start.tool_call_id.to_string()),
            _ => return None,
        };
        let at = self.0.iter().position(|id| id == started.id())?;
        self.0.remove(at);
        let (_, content) = transcript.item(started.item(transcript)?)?;
        if content.is_empty() {
            return None;
        }
        let mut messages = transcript.messages().to_vec();
        started.content(&mut messages)?.clear();
        let snapshot = MessagesSnapshot {
            messages,
            ..MessagesSnapshot::default()
        };
        Some(Shown {
            snapshot: snapshot.into(),
            parts: vec![(started, 0)],
        })
    }

    fn remember(&mut self, messages: &[Message], transcript: &Transcript) {
        let newest = messages.iter().rev();
        let answer = newest.take_while(|message| !matches!(message, Message::User(_)));
        let brought = answer.flat_map(|message| {
            let calls = match message {
                Message::Assistant(message) => message.tool_calls.as_slice(),
                _ => &[],
            };
            let message = transcript
                .message(message.id())
                .is_none()
                .then(|| message.id().as_str());
            let calls = calls.iter().map(|call| call.id.as_str());
            message
                .into_iter()
                .chain(calls.filter(|id| transcript.call_of_history(id).is_none()))
        });
        self.0.extend(brought.take(MAX_ITEMS).map(str::to_owned));
        let too_many = self.0.len().saturating_sub(MAX_ITEMS);
        self.0.drain(..too_many);
    }
}

/// Returns the events for a snapshot that has more of the open items than the stream has brought.
fn ahead(snapshot: &MessagesSnapshot, order: &Order, transcript: &Transcript) -> Option<Shown> {
    let open = order.open_items();
    let texts = open
        .messages
        .into_iter()
        .map(|id| Part::Text(id.to_string()));
    let thoughts = open.reasoning_messages.into_iter();
    let calls = open.tool_calls.into_iter();
    let open: Vec<_> = texts
        .chain(thoughts.map(|id| Part::Reasoning(id.to_string())))
        .chain(calls.map(|id| Part::Arguments(id.to_string())))
        .collect();
    if open.is_empty() {
        return None;
    }
    let mut shown = snapshot.clone();
    let mut parts = Vec::new();
    for part in open {
        let known = part.item(transcript).and_then(|item| transcript.item(item));
        if let Some((_, known)) = known
            && let Some(content) = part.content(&mut shown.messages)
            && content.len() > known.len()
            && content.starts_with(known)
        {
            content.truncate(known.len());
            parts.push((part, known.len()));
        }
    }
    (!parts.is_empty()).then(|| Shown {
        snapshot: shown.into(),
        parts,
    })
}

impl Part {
    fn id(&self) -> &str {
        match self {
            Self::Text(id) | Self::Reasoning(id) | Self::Arguments(id) => id,
        }
    }

    /// The item in the conversation; nothing if the id does not tell which it is.
    pub(super) fn item(&self, transcript: &Transcript) -> Option<Item> {
        let id = self.id();
        if let Self::Arguments(_) = self {
            let (message, position) = transcript.place_of_call(id)?;
            return Some(Item::Arguments(message, position));
        }
        let at = transcript.position(id)?;
        let is_only = transcript.last_position(id) == Some(at);
        is_only.then_some(match self {
            Self::Reasoning(_) => Item::Reasoning(at),
            _ => Item::Text(at),
        })
    }

    /// The content among these messages.
    fn content<'m>(&self, messages: &'m mut [Message]) -> Option<&'m mut String> {
        if let Self::Arguments(id) = self {
            let calls = messages.iter_mut().rev().flat_map(|message| match message {
                Message::Assistant(message) => message.tool_calls.as_mut_slice(),
                _ => &mut [],
            });
            let mut of_id = calls.filter(|call| call.id == id.as_str());
            return of_id.next().map(|call| &mut call.function.arguments);
        }
        let mut messages = messages.iter_mut();
        match (self, messages.find(|message| **message.id() == *self.id())?) {
            (Self::Text(_), Message::Assistant(message)) => message.content.as_mut(),
            (Self::Reasoning(_), Message::Reasoning(message)) => Some(&mut message.content),
            _ => None,
        }
    }

    /// Returns a delta of this item with the text `delta`.
    pub(super) fn piece<'a>(&'a self, delta: &'a str) -> EventRef<'a> {
        match self {
            Self::Text(message_id) => EventRef::TextMessageContent { message_id, delta },
            Self::Reasoning(message_id) => EventRef::ReasoningMessageContent { message_id, delta },
            Self::Arguments(tool_call_id) => EventRef::ToolCallArgs {
                tool_call_id,
                delta,
            },
        }
    }
}
