use super::background_answer::BackgroundAnswer;
use crate::event::{Event, EventRef};
use crate::run::protocol::{EffectId, RunEvent};
use crate::transcript::{Item, Transcript};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The outputs that wait for the host, in order. Deltas are ranges of the conversation: their strings are built only
/// when the host takes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Queue {
    entries: VecDeque<Entry>,
    /// The number of first entries that are not deltas, or were converted to complete events.
    #[serde(skip)]
    whole: usize,
    /// Deltas that a further one of the same item may still be merged with. Not stored: merging is never needed.
    #[serde(skip)]
    mergeable: Vec<(Item, usize)>,
    /// A counter that increases whenever waiting entries may no longer be merged with new ones.
    #[serde(skip)]
    batch: u64,
}

/// The place of a waiting event that may be extended until another event follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    batch: u64,
    at: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Entry {
    Delta {
        item: Item,
        from: usize,
        to: usize,
    },
    Event(Box<RunEvent>),
    Effect(EffectId),
    Stop(EffectId),
    /// Cancels an answer at the provider, which makes it in the background.
    CancelAnswer(BackgroundAnswer),
    /// A move along the edge of this place in the table.
    Moved(usize),
}

/// The number of open items above which deltas of the others are not merged: the search would cost more than it saves.
const MERGEABLE: usize = 16;

impl Queue {
    pub(crate) fn push(&mut self, entry: Entry) {
        self.close_batch();
        self.entries.push_back(entry);
    }

    pub(crate) fn event(&mut self, event: RunEvent) {
        self.push(Entry::Event(Box::new(event)));
    }

    /// An event that may be added to: see [`open_event`](Self::open_event).
    pub(crate) fn push_open(&mut self, event: RunEvent) -> Place {
        let place = Place {
            batch: self.batch,
            at: self.entries.len(),
        };
        self.entries.push_back(Entry::Event(Box::new(event)));
        place
    }

    /// The event at this place, if it may still be added to.
    pub(crate) fn open_event(&mut self, place: Place) -> Option<&mut RunEvent> {
        if place.batch != self.batch {
            return None;
        }
        match self.entries.get_mut(place.at)? {
            Entry::Event(event) => Some(event),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<Entry> {
        self.close_batch();
        self.whole = self.whole.saturating_sub(1);
        self.entries.pop_front()
    }

    fn close_batch(&mut self) {
        self.mergeable.clear();
        self.batch = self.batch.wrapping_add(1);
    }

    #[inline]
    pub(crate) fn delta(&mut self, item: Item, from: usize, to: usize) {
        if let Some(&(_, place)) = self.mergeable.iter().rev().find(|open| open.0 == item)
            && let Some(Entry::Delta { to: end, .. }) = self.entries.get_mut(place)
        {
            *end = to;
            return;
        }
        if self.mergeable.len() == MERGEABLE {
            self.mergeable.remove(0);
        }
        self.mergeable.push((item, self.entries.len()));
        self.entries.push_back(Entry::Delta { item, from, to });
    }

    /// Converts waiting deltas to complete events, since the messages are about to move.
    pub(crate) fn make_whole(&mut self, transcript: &Transcript) {
        for entry in self.entries.iter_mut().skip(self.whole) {
            if let Entry::Delta { item, from, to } = *entry
                && let Some(event) = delta_event(transcript, item, from, to)
            {
                *entry = Entry::Event(Box::new(RunEvent::AgUi(event)));
            }
        }
        self.whole = self.entries.len();
        self.close_batch();
    }
}

/// The event for a range of an item.
pub(crate) fn delta_event(
    transcript: &Transcript,
    item: Item,
    from: usize,
    to: usize,
) -> Option<Event> {
    let (id, content) = transcript.item(item)?;
    let delta = content.get(from..to)?;
    let event = match item {
        Item::Text(_) => EventRef::TextMessageContent {
            message_id: id,
            delta,
        },
        Item::Reasoning(_) => EventRef::ReasoningMessageContent {
            message_id: id,
            delta,
        },
        Item::Arguments(..) => EventRef::ToolCallArgs {
            tool_call_id: id,
            delta,
        },
    };
    Some(event.to_event())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_deltas_of_one_item_are_one() {
        let mut queue = Queue::default();
        let (text, thought) = (Item::Text(1), Item::Reasoning(0));
        queue.delta(text, 0, 2);
        queue.delta(thought, 0, 4);
        queue.delta(text, 2, 5);
        queue.push(Entry::Stop(EffectId::Open { hop: 0, attempt: 0 }));
        queue.delta(text, 5, 6);
        let taken: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        let delta = |item, from, to| Entry::Delta { item, from, to };
        assert_eq!(taken.len(), 4);
        assert_eq!(taken[0], delta(text, 0, 5));
        assert_eq!(taken[1], delta(thought, 0, 4));
        assert_eq!(taken[3], delta(text, 5, 6));
        assert!(queue.is_empty());
    }

    #[test]
    fn an_event_can_be_added_to_until_another_comes() {
        let warning = |message: &str| RunEvent::Warning {
            message: message.to_owned(),
        };
        let mut queue = Queue::default();
        let place = queue.push_open(warning("one"));
        *queue.open_event(place).unwrap() = warning("two");
        queue.event(warning("three"));
        assert!(queue.open_event(place).is_none());
        assert_eq!(queue.pop(), Some(Entry::Event(Box::new(warning("two")))));
    }
}
