//! Turns as they are stored.

use crate::effect::{Block, TurnStatus, json};
use crate::json_text;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use stepwell_core::{Timestamp, run, session};

/// A turn as it is stored: what the user said, and the blocks that came of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// The run id of its first hop.
    pub id: String,
    /// The turn before it on its path; the first turns of a thread have none.
    pub parent: Option<String>,
    /// What the user said, an AG-UI message in JSON; absent where the turn goes on from the history alone.
    #[serde(rename = "message", default, deserialize_with = "json_text::maybe")]
    pub message_json: Option<String>,
    /// Where it stands.
    pub status: TurnStatus,
    /// How it ended, once it has: JSON, as it was given to be stored.
    #[serde(skip)]
    pub outcome_json: Option<String>,
    /// When it began, in milliseconds since the epoch.
    pub created_at_ms: u64,
    /// When something of it was last stored, in milliseconds since the epoch.
    pub updated_at_ms: u64,
    /// Its blocks, in sequence.
    pub blocks: Vec<TurnBlock>,
}

/// A block and when it was stored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct TurnBlock {
    /// The block.
    pub block: Block,
    /// When it was stored, in milliseconds since the epoch.
    pub at_ms: u64,
}

impl From<session::Turn> for TurnRecord {
    fn from(turn: session::Turn) -> Self {
        let block = |stored: session::TurnBlock| TurnBlock {
            block: stored.block.into(),
            at_ms: stored.at.0,
        };
        Self {
            id: turn.id.into_string(),
            parent: turn.parent.map(stepwell_core::RunId::into_string),
            message_json: turn.message.as_ref().map(json),
            status: turn.status.into(),
            outcome_json: turn.outcome.as_ref().map(json),
            created_at_ms: turn.created_at.0,
            updated_at_ms: turn.updated_at.0,
            blocks: turn.blocks.into_iter().map(block).collect(),
        }
    }
}

/// The core's form of a stored turn. The error says which part of it cannot be read.
impl TryFrom<TurnRecord> for session::Turn {
    type Error = String;

    fn try_from(record: TurnRecord) -> Result<Self, String> {
        let of_turn = |what: &str| format!("{what} of the turn `{}`", record.id);
        let message = record.message_json.as_deref();
        let outcome = record.outcome_json.as_deref();
        let block = |stored: &TurnBlock| {
            let what = format!("block {}", stored.block.sequence);
            Ok(session::TurnBlock {
                block: run::Block {
                    sequence: stored.block.sequence,
                    hop: stored.block.hop,
                    content: read(&of_turn(&what), &stored.block.content_json)?,
                },
                at: Timestamp(stored.at_ms),
            })
        };
        Ok(Self {
            message: message
                .map(|text| read(&of_turn("the message"), text))
                .transpose()?,
            status: record.status.into(),
            outcome: outcome
                .map(|text| read(&of_turn("the outcome"), text))
                .transpose()?,
            created_at: Timestamp(record.created_at_ms),
            updated_at: Timestamp(record.updated_at_ms),
            blocks: record
                .blocks
                .iter()
                .map(block)
                .collect::<Result<_, String>>()?,
            parent: record.parent.map(Into::into),
            id: record.id.into(),
        })
    }
}

fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, String> {
    stepwell_core::json::from_str(text).map_err(|error| format!("{what} cannot be read: {error}"))
}
