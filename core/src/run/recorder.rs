use super::block::{Block, BlockContent};
use super::config::Durability;
use super::effect::EffectId;
use super::fault::fault;
use crate::MessageId;
use serde::{Deserialize, Serialize};

/// Numbers the blocks of a turn, and knows which are stored. One write is under way at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Recorder {
    pub(super) attempts: Option<u32>,
    pub(super) next: u64,
    pub(super) durable: u64,
    pub(super) queued: Vec<Block>,
    pub(super) in_flight: Vec<Block>,
    pub(super) failures: u32,
    /// The messages of the hop that are recorded, in their order, with how much of each, in bytes.
    pub(super) recorded: Vec<(MessageId, usize)>,
    /// A digest of what else was recorded of a message, where there was anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) marks: Vec<(MessageId, u64)>,
    /// The messages from before the hop that its stream has changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) touched: Vec<MessageId>,
    /// The hop's stream has put other messages in the place of some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rewritten: Option<Rewritten>,
    /// The hop's stream has changed the shared state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) state_changed: bool,
    /// The last hop whose cost is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) counted: Option<u32>,
    /// The turn has come to an end that is not written yet.
    pub(super) closing: bool,
    /// The write under way says so.
    pub(super) is_last: bool,
}

/// From where on the messages are others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rewritten {
    /// The last message that stays.
    pub(super) after: Option<MessageId>,
}

impl Recorder {
    pub(super) fn new(durability: Durability) -> Self {
        let attempts = match durability {
            Durability::None => None,
            Durability::Blocks { attempts } => Some(attempts.max(1)),
        };
        Self {
            attempts,
            ..Self::default()
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.attempts.is_some()
    }

    /// How many blocks must be stored before what depends on all so far may go out.
    pub(super) fn recorded(&self) -> u64 {
        self.next
    }

    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    pub(super) fn record(&mut self, hop: u32, content: BlockContent) {
        if self.is_on() {
            self.queued.push(Block {
                sequence: self.next,
                hop,
                content,
            });
            self.next += 1;
        }
    }

    /// How much of `message` is recorded, if it is at all; from now on `length` is.
    pub(super) fn advance(&mut self, message: &MessageId, length: usize) -> Option<usize> {
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
    pub(super) fn mark(&mut self, message: &MessageId, digest: u64) -> Option<u64> {
        let mut entries = self.marks.iter_mut().rev();
        match entries.find(|entry| entry.0 == *message) {
            Some((_, marked)) => Some(std::mem::replace(marked, digest)),
            None => {
                self.marks.push((message.clone(), digest));
                None
            }
        }
    }

    /// The hop's stream is recorded: what was noted of it is needed no more.
    pub(super) fn forget_stream(&mut self) {
        self.recorded.clear();
        self.marks.clear();
        self.touched.clear();
        self.rewritten = None;
        self.state_changed = false;
    }

    /// The turn is over: even without a new block, that is to be written.
    pub(super) fn close(&mut self) {
        self.closing = self.is_on();
    }

    /// The next write to give out, if none is under way and there is something to write.
    pub(super) fn next_write(&mut self) -> Option<EffectId> {
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

    pub(super) fn in_flight(&self) -> &[Block] {
        &self.in_flight
    }

    /// Whether the write under way is the turn's last.
    pub(super) fn is_last(&self) -> bool {
        self.is_last
    }

    pub(super) fn stored(&mut self) {
        self.durable += self.in_flight.len() as u64;
        self.in_flight.clear();
        self.failures = 0;
    }

    /// A write failed. Whether it is to be tried again.
    pub(super) fn not_stored(&mut self) -> bool {
        self.failures += 1;
        self.attempts
            .is_some_and(|attempts| self.failures < attempts)
    }

    /// The write has failed for good. What it held goes into the turn's last write, which has tries of its own.
    pub(super) fn put_back(&mut self) {
        if fault!(BlocksLostOnFailure) {
            self.in_flight.clear();
        }
        let later = std::mem::replace(&mut self.queued, std::mem::take(&mut self.in_flight));
        self.queued.extend(later);
        self.failures = 0;
    }
}
