use serde::{Deserialize, Serialize};
use std::fmt;

/// The states of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum StateKind {
    /// The run has not started.
    Idle,
    /// A request is on its way.
    Opening,
    /// A model writes a summary of the conversation, which the next request carries.
    Summarizing,
    /// The answer is coming.
    Streaming,
    /// Tools are running, or wait for the user to allow them.
    ExecutingTools,
    /// Hooks look at the answer.
    Reviewing,
    /// The host decodes the typed answer.
    Decoding,
    /// A request failed and is tried again: soon, or when there is a network.
    Waiting,
    /// The agent asks the user.
    Interrupted,
    /// The turn is over.
    Completed,
}

impl fmt::Display for StateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One row of [`EDGES`](crate::run::EDGES).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct EdgeRow {
    /// The state before.
    pub from: StateKind,
    /// The cause.
    #[serde(serialize_with = "in_lower_case")]
    pub on: &'static str,
    /// The state after.
    pub to: StateKind,
}

fn in_lower_case<S: serde::Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&name.to_lowercase())
}
