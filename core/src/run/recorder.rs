use super::config::Durability;
use super::effect::{Decision, EffectId};
use super::fault::fault;
use crate::event::{Message, MessageContent, ResumeEntry};
use crate::{CallKey, MessageId, ToolCallId};
use serde::{Deserialize, Serialize};

/// One finished piece of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Its number in the turn: 0, 1, 2 … without a gap, and none is ever used for two contents.
    pub sequence: u64,
    /// The hop it belongs to.
    pub hop: u32,
    /// What it holds.
    pub content: BlockContent,
}

/// What a block holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockContent {
    /// A piece of an answer's text.
    Text {
        /// The message.
        message_id: MessageId,
        /// The text.
        text: String,
    },
    /// A piece of reasoning.
    Reasoning {
        /// The message.
        message_id: MessageId,
        /// The text.
        text: String,
    },
    /// A tool call.
    ToolUse {
        /// Its place in the run.
        call: CallKey,
        /// The provider's id for it.
        tool_call_id: ToolCallId,
        /// The tool.
        name: String,
        /// The arguments as the model wrote them.
        arguments: String,
    },
    /// What the person said to a call that asked to run.
    Approval {
        /// The call.
        call: CallKey,
        /// What they said.
        decision: Decision,
    },
    /// The result of a tool call will come later.
    Deferred {
        /// The call.
        call: CallKey,
    },
    /// What came of a tool call. In the order of finishing; the history has them in the order of the calls.
    ToolResult {
        /// The call.
        call: CallKey,
        /// The provider's id for it.
        tool_call_id: ToolCallId,
        /// What the model is shown.
        content: MessageContent,
        /// Whether it is an error.
        is_error: bool,
    },
    /// What the person answered to an agent's questions, before what follows from it.
    Resumed {
        /// The answers.
        answers: Vec<ResumeEntry>,
    },
    /// What the person typed during the turn; the block's hop answers it.
    Steering {
        /// The message.
        message: Box<Message>,
    },
}

/// Where a stored turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// It goes on.
    Streaming,
    /// It ended as it should.
    Complete,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}

/// Numbers the blocks of a turn, and knows which are stored. One write is under way at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Recorder {
    pub(super) attempts: Option<u32>,
    pub(super) next: u64,
    pub(super) durable: u64,
    pub(super) queued: Vec<Block>,
    pub(super) in_flight: Vec<Block>,
    pub(super) failures: u32,
    /// How much of each of the turn's messages is recorded, in bytes.
    pub(super) recorded: Vec<(MessageId, usize)>,
    /// The turn has come to an end that is not written yet.
    pub(super) closing: bool,
    /// The write under way says so.
    pub(super) is_last: bool,
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

    /// How much of `message` is recorded; from now on `length` is.
    pub(super) fn advance(&mut self, message: &MessageId, length: usize) -> usize {
        match self.recorded.iter_mut().find(|entry| entry.0 == *message) {
            Some((_, recorded)) => std::mem::replace(recorded, length),
            None => {
                self.recorded.push((message.clone(), length));
                0
            }
        }
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
