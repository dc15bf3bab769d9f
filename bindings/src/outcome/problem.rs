//! What kept a turn from a complete answer, as a value and as an error to throw.

use super::Outcome;
use crate::model_choice::ModelName;
#[cfg(feature = "agent")]
use crate::turn::Finished;
use serde::{Deserialize, Serialize};
use stepwell_core::run;
use stepwell_mirror::mirror;

mirror! {
    /// What kept a turn from a complete answer.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::Problem)]
    pub struct Problem {
        - is_retryable,
        /// Whether a later attempt may succeed.
        retryable: bool = is_retryable,
        /// The model that was asked last, with its provider. `problem_of` does not know it.
        model,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::ErrorKind, both)]
    pub enum ErrorKind;
}

#[cfg(feature = "agent")]
mirror! {
    /// The error that is thrown when a turn ends without a complete answer, by kind. Each error has the turn as it
    /// ended.
    #[derive(Clone, Debug, PartialEq, thiserror::Error, uniffi::Error)]
    #[uniffi::export(Display)]
    #[mirror(
        stepwell_core::run::ErrorKind,
        with(
            problem: Problem = "What is wrong, and what to do.",
            finished: Finished = "The turn: what was said so far stands.",
        ),
        each(#[error("{}; {}", problem.message, problem.advice)])
    )]
    pub enum TurnError;
}

/// Returns what kept a turn from a complete answer; none if the answer is complete.
#[uniffi::export]
pub fn problem_of(outcome: Outcome) -> Option<Problem> {
    run::Outcome::from(outcome).problem().map(Into::into)
}

/// Returns the turn if its answer is complete; otherwise throws what kept the turn from a complete answer.
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
            let problem = Problem {
                model: finished.model.clone(),
                ..problem.into()
            };
            Err(TurnError::from_core(problem, finished, kind))
        }
        None => Ok(finished),
    }
}
