//! The part of the blocks that a checkpoint holds: the blocks that are not stored, and the part of the stream that is
//! in no block.

use super::Recorder;
use super::stream::{Form, StreamOf, digest};
use crate::MessageId;
use crate::event::{AssistantMessage, Message, ReasoningMessage};
use crate::run::protocol::{Attached, Block};
use crate::transcript::MessagePart;
use crate::transcript::Transcript;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

impl Recorder {
    /// The recorder as it is once the host has stored what it has been `given`.
    pub(crate) fn once_stored(&self, given: bool) -> Self {
        let Self {
            attempts,
            next,
            durable: _,
            queued,
            in_flight,
            failures,
            recorded,
            marks,
            touched,
            rewritten,
            state_changed,
            streams,
            counted,
            closing,
            is_last,
            notes,
        } = self;
        Self {
            attempts: *attempts,
            next: *next,
            durable: self.stored_blocks(given),
            queued: queued.clone(),
            in_flight: match given {
                true => Vec::new(),
                false => in_flight.clone(),
            },
            failures: if given { 0 } else { *failures },
            recorded: recorded.clone(),
            marks: marks.clone(),
            touched: touched.clone(),
            rewritten: rewritten.clone(),
            state_changed: *state_changed,
            streams: *streams,
            counted: *counted,
            closing: *closing,
            is_last: *is_last,
            notes: notes.clone(),
        }
    }

    /// Returns the number of stored blocks once the host has stored the blocks it was `given`.
    pub(crate) fn stored_blocks(&self, given: bool) -> u64 {
        let given = if given { self.in_flight.len() } else { 0 };
        self.durable + given as u64
    }

    /// The blocks that are recorded and not stored.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Block> {
        self.in_flight.iter().chain(&self.queued)
    }

    /// Returns whether the shared state is in no block as it is now.
    pub(crate) fn is_state_new(&self) -> bool {
        self.streams && self.state_changed
    }

    /// The messages of the conversation, as far as the blocks recorded so far do not have them.
    pub(crate) fn unrecorded<'a>(&self, of: &StreamOf<'a>) -> Vec<MessagePart<'a>> {
        let messages = of.transcript.messages();
        let (start, end) = if self.streams {
            (self.stream_start(of), self.rewritten_from(of))
        } else {
            (messages.len(), messages.len())
        };
        let touched: BTreeSet<&MessageId> = self.touched.iter().collect();
        let recorded: BTreeMap<&MessageId, usize> = self
            .recorded
            .iter()
            .map(|(id, length)| (id, *length))
            .collect();
        let marks: BTreeMap<&MessageId, u64> = self
            .marks
            .iter()
            .map(|(id, digest)| (id, *digest))
            .collect();
        let start = start.min(end);
        let mut parts = Vec::new();
        let mut from = 0;
        if let ([first, ..], true) = (&messages[..start], touched.is_empty())
            && let Some(last) = messages[..start].last()
        {
            parts.push(MessagePart::Stored {
                first: Cow::Borrowed(first.id()),
                last: Cow::Borrowed(last.id()),
                count: start,
            });
            from = start;
        }
        for (at, message) in messages.iter().enumerate().skip(from) {
            let id = message.id();
            if at < start {
                if touched.contains(id) {
                    parts.push(MessagePart::Whole(Cow::Borrowed(message)));
                } else {
                    MessagePart::push_stored(&mut parts, id);
                }
                continue;
            }
            match recorded.get(id).filter(|_| at < end) {
                Some(known) => {
                    let mark = marks.get(id).copied();
                    push_rest(&mut parts, message, *known, mark, of.transcript);
                }
                None => parts.push(MessagePart::Whole(Cow::Borrowed(message))),
            }
        }
        parts
    }
}

/// Adds a message of which `known` bytes of text are recorded, and an attachment or the message of this digest.
fn push_rest<'a>(
    parts: &mut Vec<MessagePart<'a>>,
    message: &'a Message,
    known: usize,
    mark: Option<u64>,
    transcript: &Transcript,
) {
    let id = message.id();
    let (text, has_calls) = match Form::of(message, transcript) {
        Form::Text(text) => (text, has_calls(message)),
        Form::Reasoning(text) => (text, false),
        Form::Calls | Form::Result { .. } | Form::Whole => {
            if mark == Some(digest(message)) {
                MessagePart::push_stored(parts, id);
            } else {
                parts.push(MessagePart::Whole(Cow::Borrowed(message)));
            }
            return;
        }
    };
    let attached = Attached::of(message);
    let is_attached = attached.is_empty() || mark == Some(digest(&attached));
    if known == text.len() && is_attached && !has_calls {
        MessagePart::push_stored(parts, id);
        return;
    }
    parts.push(match text.get(known..) {
        Some(rest) => MessagePart::Begun {
            recorded: known,
            message: Box::new(with_text(message, rest)),
        },
        None => MessagePart::Whole(Cow::Borrowed(message)),
    });
}

fn has_calls(message: &Message) -> bool {
    matches!(message, Message::Assistant(message) if !message.tool_calls.is_empty())
}

/// The message with another text.
fn with_text(message: &Message, text: &str) -> Message {
    match message {
        Message::Assistant(AssistantMessage {
            id,
            content: _,
            name,
            tool_calls,
            encrypted_value,
            metadata,
            subagent_run_id,
            extra,
        }) => Message::Assistant(AssistantMessage {
            id: id.clone(),
            content: Some(text.to_owned()),
            name: name.clone(),
            tool_calls: tool_calls.clone(),
            encrypted_value: encrypted_value.clone(),
            metadata: metadata.clone(),
            subagent_run_id: subagent_run_id.clone(),
            extra: extra.clone(),
        }),
        Message::Reasoning(ReasoningMessage {
            id,
            content: _,
            encrypted_value,
            metadata,
            subagent_run_id,
            extra,
        }) => Message::Reasoning(ReasoningMessage {
            id: id.clone(),
            content: text.to_owned(),
            encrypted_value: encrypted_value.clone(),
            metadata: metadata.clone(),
            subagent_run_id: subagent_run_id.clone(),
            extra: extra.clone(),
        }),
        other => other.clone(),
    }
}
