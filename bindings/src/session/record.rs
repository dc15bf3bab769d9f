//! Turns as they are stored.

use crate::effect::{Block, TurnStatus};
use crate::json_value::JsonValue;
use crate::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use stepwell_core::{run, session};
use stepwell_mirror::mirror;

mirror! {
    /// A turn as it is stored: the user's message, and the blocks that followed.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::session::Turn, own)]
    pub struct TurnRecord {
        /// The run id of the turn's first hop.
        id: RunId,
        /// The turn before it on its path; the first turns of a thread have none.
        parent: Option<RunId>,
        /// What the user said, an AG-UI message in JSON; absent where the turn continues from the history alone.
        message: Option<Message>,
        /// The conversation before the turn, where the turns before it do not contain it: JSON, as it was stored.
        history: Option<Box<TurnHistory>>,
        /// The status of the turn.
        status: TurnStatus,
        /// How the turn ended, once it has: JSON, as it was stored.
        #[serde(skip)]
        outcome: Option<JsonValue> = outcome.as_ref().map(JsonValue::of),
        /// When the turn began.
        #[serde(rename = "createdAtMs")]
        created_at: Timestamp,
        /// When something of the turn was last stored.
        #[serde(rename = "updatedAtMs")]
        updated_at: Timestamp,
        /// The blocks of the turn, in sequence.
        blocks: Vec<TurnBlock>,
    }

    /// A block and when it was stored.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::session::TurnBlock, own)]
    pub struct TurnBlock {
        /// The block.
        block: Block,
        /// When it was stored.
        #[serde(rename = "atMs")]
        at: Timestamp,
    }
}

/// Converts to the core's form of a stored turn. The error names the part that cannot be read.
impl TryFrom<TurnRecord> for session::Turn {
    type Error = String;

    fn try_from(record: TurnRecord) -> Result<Self, String> {
        let of_turn = |what: &str| format!("{what} of the turn `{}`", record.id);
        let message = record.message.as_ref();
        let history = record.history.as_ref();
        let outcome = record.outcome.as_ref();
        let block = |stored: &TurnBlock| {
            let what = format!("block {}", stored.block.sequence);
            Ok(session::TurnBlock {
                block: run::Block {
                    sequence: stored.block.sequence,
                    hop: stored.block.hop,
                    content: read(&of_turn(&what), &stored.block.content)?,
                },
                at: stored.at.into(),
            })
        };
        Ok(Self {
            message: message
                .map(|json| read(&of_turn("the message"), json))
                .transpose()?,
            history: history
                .map(|json| read(&of_turn("the history"), json))
                .transpose()?,
            status: record.status.into(),
            outcome: outcome
                .map(|json| read(&of_turn("the outcome"), json))
                .transpose()?,
            created_at: record.created_at.into(),
            updated_at: record.updated_at.into(),
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

fn read<T: DeserializeOwned>(what: &str, json: &JsonValue) -> Result<T, String> {
    serde_json::from_str(json.as_str()).map_err(|error| format!("{what} cannot be read: {error}"))
}
