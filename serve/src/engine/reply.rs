//! The outcome of a command that another host handled.

use crate::engine::EngineError;
use serde::{Deserialize, Serialize};
use stepwell_core::ToolCallId;
use stepwell_io::RunId;
use stepwell_io::store::StoreError;

/// The reply of the host that drives a turn to a command.
// Tests of the engine behind Restate see it.
#[allow(unreachable_pub)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The command is handled, and its effect stored.
    Done,
    /// The turn has ended.
    Over,
    /// There is no such turn.
    Gone,
    /// Another request for the turn came in between.
    Contended,
    /// The turn has no such call under way.
    NoCall(ToolCallId),
    /// No result of the call is awaited.
    NotWaiting(ToolCallId),
    /// The answers do not fit what is asked.
    Unfit(String),
    /// The command could not be handled yet.
    Later(String),
}

impl From<Result<(), EngineError>> for Reply {
    fn from(result: Result<(), EngineError>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(EngineError::Over) => Self::Over,
            Err(EngineError::Contended) => Self::Contended,
            Err(EngineError::NoCall { call }) => Self::NoCall(call),
            Err(EngineError::NotWaiting { call }) => Self::NotWaiting(call),
            Err(EngineError::Answers(error)) => Self::Unfit(error.to_string()),
            Err(EngineError::Store(StoreError::NoTurn { .. } | StoreError::NoThread { .. })) => {
                Self::Gone
            }
            Err(error) => Self::Later(error.to_string()),
        }
    }
}

impl Reply {
    /// Returns the reply for the sender of the command.
    #[allow(unreachable_pub)]
    pub fn heard(self, turn: &RunId) -> Result<(), EngineError> {
        Err(match self {
            Self::Done => return Ok(()),
            Self::Over => EngineError::Over,
            Self::Gone => StoreError::NoTurn { turn: turn.clone() }.into(),
            Self::Contended => EngineError::Contended,
            Self::NoCall(call) => EngineError::NoCall { call },
            Self::NotWaiting(call) => EngineError::NotWaiting { call },
            Self::Unfit(message) => EngineError::AnswersElsewhere { message },
            Self::Later(message) => StoreError::Unavailable { message }.into(),
        })
    }
}
