//! The blocks of a turn: what is recorded, and what is stored.

#[cfg(feature = "model-check")]
mod canonical;
mod notes;
mod once_stored;
pub(super) mod stream;

use crate::MessageId;
use crate::run::protocol::{Block, BlockContent, Durability, EffectId};
use serde::{Deserialize, Serialize};

/// Numbers the blocks of a turn, and knows which are stored. One write is under way at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recorder {
    attempts: Option<u32>,
    next: u64,
    durable: u64,
    queued: Vec<Block>,
    in_flight: Vec<Block>,
    failures: u32,
    /// The messages of the hop that are recorded, in their order, with how much of each, in bytes.
    recorded: Vec<(MessageId, usize)>,
    /// A digest of what else was recorded of a message, where there was anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<(MessageId, u64)>,
    /// The messages from before the hop that its stream has changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    touched: Vec<MessageId>,
    /// The hop's stream has replaced some messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rewritten: Option<Rewritten>,
    /// The hop's stream has changed the shared state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    state_changed: bool,
    /// The hop's stream may have brought what is not recorded yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    streams: bool,
    /// The last hop whose cost is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<u32>,
    /// The turn has come to an end that is not written yet.
    closing: bool,
    /// The write under way says so.
    is_last: bool,
    #[serde(skip)]
    notes: StreamNotes,
}

/// From where on the messages are others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Rewritten {
    /// The last message that stays.
    after: Option<MessageId>,
}

/// The changes by a stream since the recorder last looked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StreamNotes {
    /// The messages that ended.
    finished: Vec<MessageId>,
    /// The messages that the stream began, or changed other than by a delta.
    touched: Vec<MessageId>,
    /// The stream changed the shared state.
    state: bool,
    /// Some of these notes are set, or messages were replaced.
    any: bool,
}

impl Recorder {
    pub(crate) fn new(durability: Durability) -> Self {
        let attempts = match durability {
            Durability::None => None,
            Durability::Blocks { attempts } => Some(attempts.max(1)),
        };
        Self {
            attempts,
            ..Self::default()
        }
    }

    /// Hears what the stream does.
    #[inline]
    pub(crate) fn notes(&mut self) -> &mut StreamNotes {
        &mut self.notes
    }

    pub(crate) fn is_on(&self) -> bool {
        self.attempts.is_some()
    }

    /// Returns the number of blocks that must be stored before an effect that depends on all of them may be emitted.
    pub(crate) fn recorded(&self) -> u64 {
        self.next
    }

    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    pub(crate) fn record(&mut self, hop: u32, content: BlockContent) {
        if self.is_on() {
            self.queued.push(Block {
                sequence: self.next,
                hop,
                content,
            });
            self.next += 1;
        }
    }

    /// Returns the length of `message` that was recorded, if any, and sets it to `length`.
    fn advance(&mut self, message: &MessageId, length: usize) -> Option<usize> {
        let mut entries = self.recorded.iter_mut().rev();
        match entries.find(|entry| entry.0 == *message) {
            Some((_, recorded)) => Some(std::mem::replace(recorded, length)),
            None => {
                self.recorded.push((message.clone(), length));
                None
            }
        }
    }

    /// The digest of what else was recorded of `message`; from now on it is this one.
    fn mark(&mut self, message: &MessageId, digest: u64) -> Option<u64> {
        let mut entries = self.marks.iter_mut().rev();
        match entries.find(|entry| entry.0 == *message) {
            Some((_, marked)) => Some(std::mem::replace(marked, digest)),
            None => {
                self.marks.push((message.clone(), digest));
                None
            }
        }
    }

    /// Begins a hop, whose stream must be recorded.
    pub(crate) fn begin_hop(&mut self) {
        self.streams = self.is_on();
    }

    /// Returns whether the hop's stream may have brought what is not recorded yet.
    pub(crate) fn streams(&self) -> bool {
        self.streams
    }

    /// Forgets the notes on the hop's stream, which is recorded.
    fn forget_stream(&mut self) {
        self.recorded.clear();
        self.marks.clear();
        self.touched.clear();
        self.rewritten = None;
        self.state_changed = false;
        self.streams = false;
    }

    /// Notes the end of the turn, which is written even without a new block.
    pub(crate) fn close(&mut self) {
        self.closing = self.is_on();
    }

    /// Returns the next write for the host, if none is in flight and there is something to write.
    pub(crate) fn next_write(&mut self) -> Option<EffectId> {
        if !self.in_flight.is_empty() || (self.queued.is_empty() && !self.closing) {
            return None;
        }
        let sequence = self
            .queued
            .first()
            .map_or(self.next, |block| block.sequence);
        self.in_flight = std::mem::take(&mut self.queued);
        self.is_last = std::mem::take(&mut self.closing);
        Some(EffectId::Persist { sequence })
    }

    /// Returns whether a write is under way.
    pub(crate) fn is_writing(&self) -> bool {
        !self.in_flight.is_empty() || self.is_last
    }

    /// Checks that a run can have stored such a recorder.
    ///
    /// # Errors
    /// No run writes that.
    pub(crate) fn check_stored(&self) -> Result<(), &'static str> {
        let blocks = || self.in_flight.iter().chain(&self.queued);
        let waiting = blocks().count() as u64;
        if self.durable.checked_add(waiting) != Some(self.next) {
            return Err("blocks that were never recorded, or not counted");
        }
        let is_next = |(block, sequence): (&Block, u64)| block.sequence == sequence;
        if !blocks().zip(self.durable..).all(is_next) {
            return Err("blocks out of order");
        }
        let is_off = self.next == 0 && !self.closing && !self.is_last;
        if !self.is_on() && !is_off {
            return Err("blocks of a run that records none");
        }
        Ok(())
    }

    pub(crate) fn in_flight(&self) -> &[Block] {
        &self.in_flight
    }

    /// Returns whether the write under way is the turn's last.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    pub(crate) fn stored(&mut self) {
        self.durable += self.in_flight.len() as u64;
        self.in_flight.clear();
        self.failures = 0;
    }

    /// Notes that a write failed. Returns whether to retry it.
    pub(crate) fn not_stored(&mut self) -> bool {
        self.failures += 1;
        self.attempts
            .is_some_and(|attempts| self.failures < attempts)
    }

    /// Notes that the write has failed for good. Its blocks go into the turn's last write, which has attempts of its
    /// own.
    pub(crate) fn put_back(&mut self) {
        let later = std::mem::replace(&mut self.queued, std::mem::take(&mut self.in_flight));
        self.queued.extend(later);
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(recorder: &mut Recorder) {
        let state = serde_json::Value::Null;
        recorder.record(0, BlockContent::State { state });
    }

    #[test]
    fn one_write_at_a_time_and_none_lost() {
        let mut recorder = Recorder::new(Durability::Blocks { attempts: 2 });
        assert_eq!(recorder.next_write(), None);
        record(&mut recorder);
        let first = recorder.next_write();
        assert_eq!(first, Some(EffectId::Persist { sequence: 0 }));
        record(&mut recorder);
        assert_eq!(recorder.next_write(), None, "one is under way");
        assert!(recorder.not_stored(), "it is tried again");
        assert!(!recorder.not_stored(), "it failed for good");
        recorder.put_back();
        recorder.close();
        assert_eq!(recorder.next_write(), first);
        assert!(recorder.is_last());
        assert_eq!(recorder.in_flight().len(), 2);
        recorder.stored();
        assert_eq!((recorder.durable(), recorder.recorded()), (2, 2));
        assert_eq!(recorder.next_write(), None);
    }

    #[test]
    fn without_durability_nothing_is_recorded() {
        let mut recorder = Recorder::new(Durability::None);
        record(&mut recorder);
        recorder.close();
        assert_eq!(recorder.next_write(), None);
        assert_eq!(recorder.recorded(), 0);
    }
}
