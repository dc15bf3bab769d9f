//! What kept a turn from a whole answer, as a value and as an error to throw.

use super::Outcome;
#[cfg(feature = "agent")]
use crate::turn::Finished;
use serde::Serialize;
use stepwell_core::run;

/// What kept a turn from a whole answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// By this an app acts.
    pub kind: ProblemKind,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do about it.
    pub advice: String,
    /// Whether the same may go well another time.
    pub retryable: bool,
}

macro_rules! kinds {
    ($( $(#[$doc:meta])* $kind:ident )*) => {
        /// What a problem is, so that an app can act on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
        #[serde(rename_all = "camelCase")]
        pub enum ProblemKind {
            $( $(#[$doc])* $kind, )*
        }

        impl From<run::ProblemKind> for ProblemKind {
            fn from(kind: run::ProblemKind) -> Self {
                match kind {
                    $( run::ProblemKind::$kind => Self::$kind, )*
                }
            }
        }

        /// What is thrown where a turn is waited for that has no whole answer, by kind. Each has the turn as it ended.
        #[cfg(feature = "agent")]
        #[derive(Clone, Debug, PartialEq, thiserror::Error, uniffi::Error)]
        #[uniffi::export(Display)]
        pub enum TurnError {
            $(
                $(#[$doc])*
                #[error("{}; {}", problem.message, problem.advice)]
                $kind {
                    /// What is wrong, and what to do.
                    problem: Problem,
                    /// The turn: what was said so far stands.
                    finished: Finished,
                },
            )*
        }

        #[cfg(feature = "agent")]
        impl TurnError {
            fn new(problem: Problem, finished: Finished) -> Self {
                match problem.kind {
                    $( ProblemKind::$kind => Self::$kind { problem, finished }, )*
                }
            }
        }

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn every_problem_has_its_own_kind() {
                let known = [$( run::ProblemKind::$kind ),*];
                assert_eq!(known, run::ProblemKind::ALL);
            }
        }
    };
}

kinds! {
    /// The key is missing, wrong, or not allowed to do this.
    Authentication
    /// Too many requests, or the quota is used up.
    RateLimit
    /// The request is at fault.
    InvalidRequest
    /// The model or the address does not exist.
    NotFound
    /// The provider is at fault.
    ServerError
    /// The provider or the model has too much to do.
    Overloaded
    /// The conversation is longer than the model can read.
    ContextTooLong
    /// The provider's filter stopped the request or the answer.
    ContentFiltered
    /// The model refused to answer.
    Refused
    /// The answer was cut off at the model's limit of tokens.
    Cut
    /// The model ended without text, a tool call or media.
    EmptyAnswer
    /// A limit of the turn was reached, or one of the agent's own.
    LimitReached
    /// The model's server cannot be reached, or the connection broke.
    ConnectionFailed
    /// It took too long.
    TimedOut
    /// What came is no answer in the provider's format.
    Unreadable
    /// The model did not give the typed answer that it was asked for.
    OutputInvalid
    /// The agent said that its run failed, and not why in words that are known.
    AgentFailed
    /// The app's own code for the turn failed.
    AppFailed
    /// A hook of the app's refused the request or the answer, or failed.
    RefusedByHook
    /// What was said could not be stored.
    NotStored
    /// Another turn of the thread is under way.
    Busy
    /// The user, or the agent, stopped it.
    Stopped
}

impl From<run::Problem> for Problem {
    fn from(problem: run::Problem) -> Self {
        Self {
            kind: problem.kind.into(),
            message: problem.message,
            advice: problem.advice.to_owned(),
            retryable: problem.is_retryable,
        }
    }
}

/// What kept a turn from a whole answer; nothing if the answer is whole.
#[uniffi::export]
pub fn problem_of(outcome: Outcome) -> Option<Problem> {
    run::Outcome::from(outcome).problem().map(Into::into)
}

/// The turn, if its answer is whole; else what kept it from that is thrown.
#[cfg(feature = "agent")]
#[uniffi::export]
#[allow(
    clippy::result_large_err,
    reason = "it crosses to another language as bytes, once a turn"
)]
pub fn require_whole(finished: Finished) -> Result<Finished, TurnError> {
    match problem_of(finished.outcome.clone()) {
        Some(problem) => Err(TurnError::new(problem, finished)),
        None => Ok(finished),
    }
}
