//! A conversation of which a checkpoint has what cannot be rebuilt from stored blocks.

use super::index::Index;
use super::{Compaction, LiveCall, Transcript};
use crate::MessageId;
use crate::event::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// The part of a conversation that a checkpoint stores besides its [`MessagePart`]s.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outline {
    /// The live calls whose results are in blocks, by their index in the hop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    results: Vec<u32>,
    /// The shared state, where no block has it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<Value>,
    #[serde(default, skip_serializing_if = "Index::tells_nothing")]
    index: Index,
}

/// Consecutive messages of a conversation, as far as the rebuilt one lacks them.
// There are few parts, and they exist only while a write is built.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessagePart<'a> {
    /// A run of `count` consecutive messages that the rebuilt conversation has, from the first to the last.
    Stored {
        first: Cow<'a, MessageId>,
        last: Cow<'a, MessageId>,
        count: usize,
    },
    /// The rebuilt conversation has the first `recorded` bytes of the message's text. `message` has the rest of it, and all
    /// else.
    Begun {
        recorded: usize,
        message: Box<Message>,
    },
    /// A message that is in no block as it is now.
    Whole(Cow<'a, Message>),
}

impl<'a> MessagePart<'a> {
    /// Adds a message that the rebuilt conversation has.
    pub(crate) fn push_stored(parts: &mut Vec<Self>, id: &'a MessageId) {
        let id = Cow::Borrowed(id);
        if let Some(Self::Stored { last, count, .. }) = parts.last_mut() {
            *last = id;
            *count += 1;
        } else {
            let first = id.clone();
            parts.push(Self::Stored {
                first,
                last: id,
                count: 1,
            });
        }
    }
}

/// One or more entries of a message list that is stored next to the conversation: `count` messages of the conversation
/// from an index on, or a message that the conversation lacks.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Row {
    Same { from: usize, count: usize },
    Other(Box<Message>),
}

impl Row {
    /// Adds what the message at `place` has, if it has this.
    fn push(rows: &mut Vec<Self>, place: Option<usize>, other: &Message) {
        match (rows.last_mut(), place) {
            (Some(Self::Same { from, count }), Some(place)) if *from + *count == place => {
                *count += 1;
            }
            (_, Some(from)) => rows.push(Self::Same { from, count: 1 }),
            (_, None) => rows.push(Self::Other(Box::new(other.clone()))),
        }
    }
}

/// The rebuilt conversation is not the one that the checkpoint was taken from.
#[derive(Debug)]
pub(crate) struct Misfit(pub(crate) String);

impl Transcript {
    /// The conversation without what is rebuilt from blocks: its messages, its state, and results that are in blocks. The
    /// state is in the outline if it is `new`.
    pub(crate) fn outline(&self, is_state_new: bool) -> (Self, Outline) {
        let mut results = Vec::new();
        let calls = self.calls.iter().map(|call| {
            if call.is_recorded() {
                results.push(call.key.index);
            }
            LiveCall {
                key: call.key,
                id: call.id.clone(),
                name: call.name.clone(),
                status: call.status,
                result: match &call.result {
                    Some(result) if !call.is_recorded() => Some(result.clone()),
                    _ => None,
                },
                edited: call.edited.clone(),
                changed: call.changed.clone(),
                restarts: call.restarts,
            }
        });
        let transcript = Self {
            messages: Vec::new(),
            state: Value::Null,
            calls: calls.collect(),
            hop: self.hop,
            next_call: self.next_call,
            summary: self.summary.clone(),
            brought: self.brought.clone(),
            // A block has it.
            compaction: Compaction::default(),
            index: Index::default(),
        };
        let outline = Outline {
            results,
            state: is_state_new.then(|| self.state.clone()),
            index: self.index.untold(),
        };
        (transcript, outline)
    }

    /// The live calls whose results are in blocks.
    pub(crate) fn recorded_calls<'a>(
        &'a self,
        outline: &'a Outline,
    ) -> impl Iterator<Item = &'a LiveCall> {
        let calls = self.calls.iter();
        calls.filter(|call| call.key.hop == self.hop && outline.results.contains(&call.key.index))
    }

    /// Messages, by the places of those that are the same here.
    pub(crate) fn rows_of_messages(&self, messages: &[Message]) -> Vec<Row> {
        let mut rows = Vec::new();
        for message in messages {
            let place = self.position(message.id());
            let place = place.filter(|at| self.messages.get(*at) == Some(message));
            Row::push(&mut rows, place, message);
        }
        rows
    }

    /// Returns the messages that the rows stand for.
    ///
    /// # Errors
    /// The conversation has fewer messages than a row refers to.
    pub(crate) fn messages_of_rows(&self, rows: Vec<Row>) -> Result<Vec<Message>, Misfit> {
        let mut all = Vec::new();
        for row in rows {
            match row {
                Row::Other(other) => all.push(*other),
                Row::Same { from, count } => {
                    let end = from.checked_add(count);
                    let Some(same) = end.and_then(|end| self.messages.get(from..end)) else {
                        return Err(Misfit(format!(
                            "there are no {count} messages from {from} on"
                        )));
                    };
                    all.extend_from_slice(same);
                }
            }
        }
        Ok(all)
    }

    /// Completes this conversation, which was stored as an outline, with the rebuilt one.
    ///
    /// # Errors
    /// The rebuilt conversation lacks a message that the parts refer to; or it has more messages although `whole` is
    /// set.
    pub(crate) fn fill(
        self,
        rebuilt: Self,
        outline: Outline,
        parts: Vec<MessagePart<'_>>,
        whole: bool,
    ) -> Result<Self, Misfit> {
        let messages = join(rebuilt.messages, parts, whole)?;
        let index = outline.index.completed(&messages);
        Ok(Self {
            messages,
            state: outline.state.unwrap_or(rebuilt.state),
            compaction: rebuilt.compaction,
            index,
            ..self
        })
    }
}

impl LiveCall {
    /// Returns whether its result is in a block.
    fn is_recorded(&self) -> bool {
        self.status.is_final() && self.result.is_some()
    }
}

fn join(
    there: Vec<Message>,
    parts: Vec<MessagePart<'_>>,
    whole: bool,
) -> Result<Vec<Message>, Misfit> {
    let mut messages = Vec::with_capacity(there.len());
    let mut there = there.into_iter();
    for part in parts {
        match part {
            MessagePart::Stored { first, last, count } => {
                let before = messages.len();
                messages.push(next(&mut there, &first, whole)?);
                messages.extend(there.by_ref().take(count.saturating_sub(1)));
                let ends = messages.last().is_some_and(|end| *end.id() == *last);
                if messages.len() - before != count || !ends {
                    return Err(Misfit(format!(
                        "`{last}` does not come {count} messages after `{first}`"
                    )));
                }
            }
            MessagePart::Begun {
                recorded,
                mut message,
            } => {
                let begun = next(&mut there, message.id(), whole)?;
                let (text, rest) = match (&begun, &mut *message) {
                    (Message::Assistant(begun), Message::Assistant(message)) => (
                        begun.content.as_deref(),
                        message.content.get_or_insert_default(),
                    ),
                    (Message::Reasoning(begun), Message::Reasoning(message)) => {
                        (Some(&*begun.content), &mut message.content)
                    }
                    _ => (None, &mut String::new()),
                };
                let Some(text) = text.and_then(|text| text.get(..recorded)) else {
                    let id = begun.id();
                    return Err(Misfit(format!(
                        "the text of `{id}` has no {recorded} bytes"
                    )));
                };
                rest.insert_str(0, text);
                messages.push(*message);
            }
            MessagePart::Whole(message) => messages.push(message.into_owned()),
        }
    }
    match there.next() {
        Some(message) if whole => Err(Misfit(format!(
            "the message `{}` is not of this run",
            message.id()
        ))),
        _ => Ok(messages),
    }
}

/// Takes the next message, which must have this id. Unless `whole` is set, skips the messages before it.
fn next(
    there: &mut impl Iterator<Item = Message>,
    id: &MessageId,
    whole: bool,
) -> Result<Message, Misfit> {
    let found = if whole {
        there.next().filter(|message| message.id() == id)
    } else {
        there.find(|message| message.id() == id)
    };
    found.ok_or_else(|| Misfit(format!("the message `{id}` is not there")))
}
