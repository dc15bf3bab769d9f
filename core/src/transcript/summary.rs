use crate::event::{RunOutcome, TokenUsage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// The summary of one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct HopSummary {
    /// The reason why the model stopped, in the provider's own word.
    pub stop_reason: Option<String>,
    /// The token usage, one entry per model.
    pub usage: Vec<TokenUsage>,
    /// The outcome of the run, if an AG-UI agent reports it.
    pub outcome: Option<RunOutcome>,
    /// The result of the run, if an AG-UI agent reports it.
    pub result: Option<Value>,
    /// The failure that the stream reported for the run.
    pub failure: Option<RunFailure>,
}

/// A failure that the stream itself reported (`RUN_ERROR`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct RunFailure {
    /// The peer's error message.
    pub message: String,
    /// The peer's code for it.
    pub code: Option<String>,
    /// The kind of error, by the name of an [`ApiErrorKind`](crate::dialect::ApiErrorKind), if the provider reported it
    /// by more than the code and the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The wait before the next attempt that the provider asks for, where it sends one apart from its error text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}
