use crate::event::{RunOutcome, TokenUsage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// What one stream said of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HopSummary {
    /// Why the model stopped, in the provider's own word.
    pub stop_reason: Option<String>,
    /// What it cost, one entry a model.
    pub usage: Vec<TokenUsage>,
    /// How the run ended, where an AG-UI agent says so.
    pub outcome: Option<RunOutcome>,
    /// What the run gave back, where an AG-UI agent does.
    pub result: Option<Value>,
    /// Why the stream says that the run failed.
    pub failure: Option<RunFailure>,
}

/// A failure that the stream itself reported (`RUN_ERROR`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RunFailure {
    /// What went wrong, in the peer's words.
    pub message: String,
    /// The peer's code for it.
    pub code: Option<String>,
    /// The kind of error, by the name of an [`ApiErrorKind`](crate::dialect::ApiErrorKind), where the provider said it in
    /// more than the code and the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The wait before the next try that the provider asks for, where it says so beside its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}
