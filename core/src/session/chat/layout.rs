//! Where the messages of the conversation are in the messages of the screen.

use crate::MessageId;
use crate::event::Message;
use std::collections::HashMap;

/// The parts of a message of the screen that show one message of the conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// The number of the message of the screen, counted from the first that was ever shown.
    pub(super) message: usize,
    /// The index of the first part.
    pub(super) first: usize,
    /// The number of parts.
    pub(super) len: usize,
    /// Whether the message of the conversation was cut.
    pub(super) is_cut: bool,
}

impl Segment {
    pub(super) fn end(&self) -> usize {
        self.first + self.len
    }
}

/// The segments of a screen, and how far the conversation was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) segments: HashMap<MessageId, Segment>,
    /// The number of the conversation's messages that were read, and the id of the last one.
    read: usize,
    last: Option<MessageId>,
    /// The number of the screen's messages that were dropped from its front.
    pub(super) dropped: usize,
    /// Two messages of the conversation have one id, so that an id does not lead to its segment.
    pub(super) has_twins: bool,
}

/// The growth of a conversation since it was last read.
#[derive(Debug, PartialEq)]
pub(super) enum Growth {
    /// The messages from this index on are new.
    From(usize),
    /// Other messages than the last ones changed their places.
    Elsewhere,
}

impl Layout {
    /// Compares the conversation with what was read of it.
    pub(super) fn growth(&self, messages: &[Message]) -> Growth {
        let is_last = |at: usize| messages.get(at).map(Message::id) == self.last.as_ref();
        match self.read.checked_sub(1) {
            None => Growth::From(0),
            Some(last) if is_last(last) => Growth::From(self.read),
            // A result was inserted before the last message. Results have no segment of their own.
            Some(last) if messages.len() == last + 2 && is_last(last + 1) => {
                Growth::From(messages.len())
            }
            Some(_) => Growth::Elsewhere,
        }
    }

    /// Notes that the conversation was read to its end.
    pub(super) fn note_read(&mut self, messages: &[Message]) {
        self.read = messages.len();
        self.last = messages.last().map(|message| message.id().clone());
    }
}
