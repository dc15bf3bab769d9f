use crate::event::Message;
use crate::{MessageId, ToolCallId};
use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The index of messages and calls by id. It is built from the messages, so comparisons ignore it. Only the part that
/// the messages do not determine is stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Returned", into = "Returned")]
pub(super) struct Index {
    messages: HashMap<MessageId, usize, RandomState>,
    calls: HashMap<ToolCallId, (usize, usize), RandomState>,
    /// The first place from which on there are other messages than before, since someone asked.
    rewritten: Option<usize>,
    /// Some messages have the same id.
    has_twins: bool,
    /// The calls that began again in an earlier message than that which has the last of their id.
    returned: BTreeSet<ToolCallId>,
    /// The first message of those that ask under one id.
    first: HashMap<ToolCallId, usize, RandomState>,
}

/// The places of calls that began again in an earlier message.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Returned(BTreeMap<ToolCallId, (usize, usize)>);

impl From<Index> for Returned {
    fn from(index: Index) -> Self {
        let place = |id: ToolCallId| Some((id.clone(), index.call(&id)?));
        Self(index.returned.iter().cloned().filter_map(place).collect())
    }
}

impl From<Returned> for Index {
    fn from(Returned(calls): Returned) -> Self {
        Self {
            returned: calls.keys().cloned().collect(),
            calls: calls.into_iter().collect(),
            ..Self::default()
        }
    }
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

    /// The index of messages that were stored with what this one holds of theirs.
    pub(super) fn completed(self, messages: &[Message]) -> Self {
        let mut index = Self::of(messages);
        for id in self.returned {
            // Stored data may be damaged: a place without such a call is ignored.
            let has_call = |&(at, position): &(usize, usize)| match messages.get(at) {
                Some(Message::Assistant(message)) => {
                    (message.tool_calls.get(position)).is_some_and(|call| call.id == id)
                }
                _ => false,
            };
            if let Some(place) = self.calls.get(&id).copied().filter(has_call) {
                index.add_call(id, place);
            }
        }
        index
    }

    /// Returns only the part that the messages do not determine.
    pub(super) fn untold(&self) -> Self {
        let place = |id: &ToolCallId| Some((id.clone(), self.call(id)?));
        Self {
            returned: self.returned.clone(),
            calls: self.returned.iter().filter_map(place).collect(),
            ..Self::default()
        }
    }

    pub(super) fn tells_nothing(&self) -> bool {
        self.returned.is_empty()
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

    /// Returns whether a message before `at` asks for a call with this id, and the last one that does comes after it.
    pub(super) fn is_asked_again(&self, id: &str, at: usize) -> bool {
        let is_before = self.first.get(id).is_some_and(|first| *first < at);
        is_before && self.call(id).is_some_and(|(last, _)| last > at)
    }

    pub(super) fn add(&mut self, message: &Message, at: usize) {
        let place = self.messages.entry(message.id().clone()).or_insert(at);
        self.has_twins |= *place != at;
        if let Message::Assistant(message) = message {
            for (position, call) in message.tool_calls.iter().enumerate() {
                self.put_call(call.id.clone(), (at, position));
            }
        }
    }

    /// The last message, which asks for no call, is gone from `at`.
    pub(super) fn remove_last(&mut self, id: &str, at: usize) {
        if self.message(id) == Some(at) {
            self.messages.remove(id);
        }
    }

    pub(super) fn add_call(&mut self, id: ToolCallId, at: (usize, usize)) {
        let before = self.put_call(id.clone(), at);
        if before.is_some_and(|before| before > at) {
            self.returned.insert(id);
        }
    }

    fn put_call(&mut self, id: ToolCallId, at: (usize, usize)) -> Option<(usize, usize)> {
        let before = self.calls.insert(id.clone(), at);
        if let Some((before, _)) = before.filter(|before| before.0 != at.0) {
            let first = self.first.entry(id).or_insert(before);
            *first = before.min(at.0).min(*first);
        }
        before
    }

    /// A message was put in at `at`: what stood there or after it moves on by one.
    pub(super) fn shift(&mut self, at: usize) {
        let messages = self.messages.values_mut();
        messages
            .chain(self.first.values_mut())
            .filter(|place| **place >= at)
            .for_each(|place| *place += 1);
        self.calls
            .values_mut()
            .filter(|place| place.0 >= at)
            .for_each(|place| place.0 += 1);
    }
}
