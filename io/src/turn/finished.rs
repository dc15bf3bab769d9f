//! A turn that is over.

use serde_json::Value;
use std::error::Error;
use std::fmt;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::TokenUsage;
use stepwell_core::run::{Outcome, Problem, TextOptions};

/// A turn that is over. `{:?}` says how it ended, and nothing of what was said.
#[derive(Clone, PartialEq)]
pub struct Finished {
    /// How it ended. A turn whose thread another one took over is cancelled.
    pub outcome: Outcome,
    /// The conversation after it.
    pub conversation: Conversation,
    /// What it cost, over all its hops.
    pub usage: TokenUsage,
    /// How many streams it took.
    pub hops: u32,
    /// The typed answer, if there was to be one and the turn has ended well.
    pub output: Option<Value>,
    /// How its text was shown.
    pub(crate) shown_as: TextOptions,
}

/// What kept a turn from a whole answer: what awaiting a [`Turn`](crate::Turn) gives in its place. Neither `{}` nor `{:?}` has anything
/// of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnFailed {
    /// What is wrong, and what to do.
    pub problem: Problem,
    /// The turn: what was said so far stands.
    pub finished: Box<Finished>,
}

impl fmt::Display for TurnFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl Error for TurnFailed {
    /// What the outcome says, where that is an error: the provider's, say.
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
            .field("messages", &self.conversation.messages().len())
            .field("usage", &self.usage)
            .field("hops", &self.hops)
            .field("has_output", &self.output.is_some())
            .finish_non_exhaustive()
    }
}

impl Finished {
    /// All that the model said in the turn, as it was shown: with a line break between the texts before and after tool
    /// calls, as [`TextOptions`] has it. Empty if the turn did not begin.
    #[must_use]
    pub fn text(&self) -> String {
        match self.hops {
            // The last text of the conversation is an earlier turn's.
            0 => String::new(),
            _ => self.shown_as.shown(&self.conversation),
        }
    }

    /// The turn, if its answer is whole.
    ///
    /// # Errors
    /// It is not, for one reason or another: the key is wrong, a limit was reached, the answer was cut, …
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
