use super::SessionError;
use crate::event::{Message, TokenUsage};
use crate::run::parts::Budget;
use crate::run::protocol::{Block, BlockContent, Outcome, TurnStatus};
use crate::transcript::{Compaction, Transcript};
use crate::{RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A turn as it is stored: the user's message, and the blocks of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The run id of its first hop.
    pub id: RunId,
    /// The turn before it on its path; the first turns of a thread have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// The conversation before the turn, if the stored turns before it do not provide it: the turn was begun on a
    /// conversation that the store does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Box<TurnHistory>>,
    /// The user's message; absent if the turn continues from the history alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// The turn's status.
    pub status: TurnStatus,
    /// The outcome, once the turn has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something of it was last stored.
    pub updated_at: Timestamp,
    /// The turn's blocks, in sequence.
    #[serde(default)]
    pub blocks: Vec<TurnBlock>,
}

/// The conversation that a turn began with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnHistory {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The state shared with an agent.
    #[serde(default)]
    pub state: Value,
    /// The part of the messages that requests no longer carry as it is.
    #[serde(default, skip_serializing_if = "Compaction::is_none")]
    pub compaction: Compaction,
}

impl TurnHistory {
    /// The history that a turn on `conversation` must be stored with, if there is anything in it.
    #[must_use]
    pub fn of(transcript: &Transcript) -> Option<Self> {
        let state = transcript.shared_state();
        let has_state = state.as_object().is_none_or(|state| !state.is_empty());
        (has_state || !transcript.messages().is_empty()).then(|| Self {
            messages: transcript.messages().to_vec(),
            state: state.clone(),
            compaction: transcript.compaction().clone(),
        })
    }

    /// The conversation.
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        Transcript::new(self.messages.clone())
            .with_shared_state(self.state.clone())
            .with_compaction(self.compaction.clone())
    }
}

/// A block and when it was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnBlock {
    /// The block.
    #[serde(flatten)]
    pub block: Block,
    /// When it was stored.
    pub at: Timestamp,
}

/// Checks that the blocks are numbered 0, 1, 2 …
pub(crate) fn in_sequence(turn: &Turn) -> Result<(), SessionError> {
    let numbers = turn.blocks.iter().map(|block| block.block.sequence);
    match numbers.zip(0..).find(|(found, expected)| found != expected) {
        Some((found, expected)) => Err(SessionError::SequenceGap {
            turn: turn.id.clone(),
            expected,
            found,
        }),
        None => Ok(()),
    }
}

/// Returns the usage of a stored turn, over all its hops.
pub(crate) fn usage_of_turn(turn: &Turn) -> TokenUsage {
    let mut budget = Budget::default();
    for block in &turn.blocks {
        if let BlockContent::Usage { usage } | BlockContent::Compacted { usage, .. } =
            &block.block.content
        {
            budget.count_usage(usage);
        }
    }
    budget.usage().clone()
}
