use crate::event::Message;
use crate::json;
use crate::run::{Block, Outcome, TurnStatus};
use crate::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

/// A turn as it is stored: what the user said, and the blocks that came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The run id of its first hop.
    pub id: RunId,
    /// The turn before it on its path; the first turns of a thread have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// What the user said; absent where the turn goes on from the history alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Where it stands.
    pub status: TurnStatus,
    /// How it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something of it was last stored.
    pub updated_at: Timestamp,
    /// Its blocks, in sequence.
    #[serde(default)]
    pub blocks: Vec<TurnBlock>,
}

/// A block and when it was stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnBlock {
    /// The block.
    #[serde(flatten)]
    pub block: Block,
    /// When it was stored.
    pub at: Timestamp,
}

json::read_from_value!(TurnBlock, |value| Ok(TurnBlock {
    at: json::required(value, "at")?,
    block: json::read(value)?,
}));
