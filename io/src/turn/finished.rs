//! A turn that is over.

use serde_json::Value;
use std::error::Error;
use std::fmt;
use stepwell_core::event::TokenUsage;
use stepwell_core::run::{Outcome, Problem, TextOptions};
use stepwell_core::transcript::Transcript;

/// A turn that is over. Its `Debug` output says how the turn ended, and holds nothing of the conversation.
#[derive(Clone, PartialEq)]
pub struct Finished {
    /// The outcome of the turn. A turn whose thread another turn took over is cancelled.
    pub outcome: Outcome,
    /// The conversation after the turn.
    pub transcript: Transcript,
    /// The usage of the turn, over all its hops.
    pub usage: TokenUsage,
    /// The number of streams.
    pub hops: u32,
    /// The typed answer, if one was asked for and the turn has succeeded.
    pub output: Option<Value>,
    /// The options with which the turn's text was shown.
    pub(crate) shown_as: TextOptions,
}

/// Why a turn has no complete answer: the error of awaiting a [`Turn`](crate::Turn). Its `Display` and `Debug` output
/// hold nothing of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnFailed {
    /// The problem, and what to do.
    pub problem: Problem,
    /// The turn, with the answer as far as it came.
    pub finished: Box<Finished>,
}

impl fmt::Display for TurnFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl Error for TurnFailed {
    /// Returns the failure in the outcome, such as the provider's error.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.finished.outcome {
            Outcome::Failed { failure } => Some(failure),
            Outcome::Incomplete { reason } => Some(reason),
            Outcome::LimitReached { limit } => Some(limit),
            _ => None,
        }
    }
}

impl fmt::Debug for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finished")
            .field("outcome", &self.outcome)
            .field("messages", &self.transcript.messages().len())
            .field("usage", &self.usage)
            .field("hops", &self.hops)
            .field("has_output", &self.output.is_some())
            .finish_non_exhaustive()
    }
}

impl Finished {
    /// Returns the text of the model's answer, as it was shown: with a line break between the texts before and after
    /// tool calls, as [`TextOptions`] has it. Empty if the turn did not begin.
    #[must_use]
    pub fn text(&self) -> String {
        match self.hops {
            // The last text of the conversation belongs to an earlier turn.
            0 => String::new(),
            _ => self.shown_as.shown(&self.transcript),
        }
    }

    /// Returns the turn, if its answer is complete.
    ///
    /// # Errors
    /// The answer is incomplete: the key is wrong, a limit was reached, the answer was cut, …
    pub fn whole(self) -> Result<Self, TurnFailed> {
        match self.outcome.problem() {
            Some(problem) => Err(TurnFailed {
                problem,
                finished: Box::new(self),
            }),
            None => Ok(self),
        }
    }
}
