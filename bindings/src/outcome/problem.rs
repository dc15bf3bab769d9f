//! What kept a turn from a whole answer, as a value and as an error to throw.

use super::Outcome;
#[cfg(feature = "agent")]
use crate::turn::Finished;
use serde::Serialize;
use stepwell_core::run;
use stepwell_mirror::mirror;

mirror! {
    /// What kept a turn from a whole answer.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::Problem)]
    pub struct Problem {
        - is_retryable,
        /// Whether the same may go well another time.
        retryable: bool = is_retryable,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::ProblemKind)]
    pub enum ProblemKind;
}

#[cfg(feature = "agent")]
mirror! {
    /// What is thrown where a turn is waited for that has no whole answer, by kind. Each has the turn as it ended.
    #[derive(Clone, Debug, PartialEq, thiserror::Error, uniffi::Error)]
    #[uniffi::export(Display)]
    #[mirror(
        stepwell_core::run::ProblemKind,
        with(
            problem: Problem = "What is wrong, and what to do.",
            finished: Finished = "The turn: what was said so far stands.",
        ),
        each(#[error("{}; {}", problem.message, problem.advice)])
    )]
    pub enum TurnError;
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
    match run::Outcome::from(finished.outcome.clone()).problem() {
        Some(problem) => {
            let kind = problem.kind;
            Err(TurnError::from_core(problem.into(), finished, kind))
        }
        None => Ok(finished),
    }
}
