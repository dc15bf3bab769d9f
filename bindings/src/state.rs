use serde::Serialize;
use stepwell_core::run;

/// The states of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum StateKind {
    /// Nothing was asked yet.
    Idle,
    /// A request is on its way.
    Opening,
    /// The answer is coming.
    Streaming,
    /// Tools are running, or wait for the user to allow them.
    ExecutingTools,
    /// Hooks of the app's look at the answer.
    Reviewing,
    /// The app decodes the typed answer.
    Decoding,
    /// A request failed and is tried again: soon, or when there is a network.
    Waiting,
    /// The agent asks the user.
    Interrupted,
    /// The turn is over.
    Completed,
    /// A call broke off inside Stepwell: restore the last snapshot.
    Broken,
}

impl From<run::StateKind> for StateKind {
    fn from(state: run::StateKind) -> Self {
        match state {
            run::StateKind::Idle => Self::Idle,
            run::StateKind::Opening => Self::Opening,
            run::StateKind::Waiting => Self::Waiting,
            run::StateKind::Streaming => Self::Streaming,
            run::StateKind::Reviewing => Self::Reviewing,
            run::StateKind::Decoding => Self::Decoding,
            run::StateKind::ExecutingTools => Self::ExecutingTools,
            run::StateKind::Interrupted => Self::Interrupted,
            run::StateKind::Completed => Self::Completed,
        }
    }
}
