//! Why an engine refuses a request.

use crate::request::{Refused, RefusedReason};
use stepwell_core::ToolCallId;
use stepwell_io::store::StoreError;

/// Why an engine did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store refused it, or could not be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The turn has come to its end.
    #[error("the turn is over")]
    Over,
    /// Others began, took or stopped turns of the thread all the while.
    #[error("other requests for the thread came in between: look at the thread, and try again")]
    Contended,
    /// The answers do not fit what is asked.
    #[error(transparent)]
    Answers(#[from] crate::Unresumable),
    /// The same, reported by the host that drives the turn.
    #[error("{message}")]
    AnswersElsewhere {
        /// The message of that host.
        message: String,
    },
    /// The turn has no such call under way.
    #[error("the turn has no call `{call}` under way: it is done, or the id is another one")]
    NoCall {
        /// The call.
        call: ToolCallId,
    },
    /// No result of the call is awaited.
    #[error(
        "no result of the call `{call}` is awaited: it has one, or its `tool_status` is not `deferred` yet"
    )]
    NotWaiting {
        /// The call.
        call: ToolCallId,
    },
    /// The limit of turns under way is reached.
    #[error("{most} turns are under way, and no more are taken: try again in a while")]
    TooMany {
        /// The limit.
        most: usize,
    },
    /// The server takes no more requests.
    #[error("the server is stopping: try again in a while")]
    Stopping,
    /// The limit of the user's turns that wait for an answer is reached.
    #[error(
        "{most} turns wait for an answer, and a user may have no more: answer or cancel one of them"
    )]
    TooManyWaiting {
        /// The limit.
        most: usize,
    },
    /// The turn cannot be set up, or revived.
    #[error("the server cannot go on with the turn: see its log")]
    Internal,
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Self {
        let reason = match &error {
            EngineError::Store(cause) => {
                // Its words may name addresses and files.
                tracing::error!(target: "stepwell", error = %cause, "the store failed");
                let message =
                    "the server cannot reach its store, or not write there: try again in a while";
                return Self::new(RefusedReason::StoreUnavailable, message);
            }
            EngineError::TooMany { .. } | EngineError::TooManyWaiting { .. } => {
                RefusedReason::TooManyRuns
            }
            EngineError::Stopping => return Self::stopping(),
            EngineError::Internal => RefusedReason::InternalError,
            _ => RefusedReason::RunUnderWay,
        };
        Self::new(reason, error.to_string())
    }
}
