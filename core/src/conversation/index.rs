use crate::event::Message;
use crate::{MessageId, ToolCallId};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Where messages and calls stand, by id. Made from the messages, so it neither counts in comparisons nor is stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    messages: HashMap<MessageId, usize, RandomState>,
    calls: HashMap<ToolCallId, (usize, usize), RandomState>,
    /// The first place from which on there are other messages than before, since someone asked.
    rewritten: Option<usize>,
    /// Some messages have the same id.
    has_twins: bool,
}

impl PartialEq for Index {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Index {
    pub(super) fn of(messages: &[Message]) -> Self {
        let mut index = Self::default();
        for (at, message) in messages.iter().enumerate() {
            index.add(message, at);
        }
        index
    }

    /// From here on there are other messages than before.
    pub(super) fn rewritten(&mut self, from: usize) {
        self.rewritten = Some(self.rewritten.map_or(from, |before| before.min(from)));
    }

    pub(super) fn take_rewritten(&mut self) -> Option<usize> {
        self.rewritten.take()
    }

    pub(super) fn message(&self, id: &str) -> Option<usize> {
        self.messages.get(id).copied()
    }

    pub(super) fn has_twins(&self) -> bool {
        self.has_twins
    }

    /// The message and the position in it.
    pub(super) fn call(&self, id: &str) -> Option<(usize, usize)> {
        self.calls.get(id).copied()
    }

    pub(super) fn add(&mut self, message: &Message, at: usize) {
        let place = self.messages.entry(message.id().clone()).or_insert(at);
        self.has_twins |= *place != at;
        if let Message::Assistant(message) = message {
            for (position, call) in message.tool_calls.iter().enumerate() {
                self.calls.insert(call.id.clone(), (at, position));
            }
        }
    }

    pub(super) fn add_call(&mut self, id: ToolCallId, at: (usize, usize)) {
        self.calls.insert(id, at);
    }

    /// A message was put in at `at`: what stood there or after it moves on by one.
    pub(super) fn shift(&mut self, at: usize) {
        self.messages
            .values_mut()
            .filter(|place| **place >= at)
            .for_each(|place| *place += 1);
        self.calls
            .values_mut()
            .filter(|place| place.0 >= at)
            .for_each(|place| place.0 += 1);
    }
}
