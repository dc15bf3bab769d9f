//! The result of a turn that has succeeded.

use crate::answer::output::Output;
use crate::turn::finished::Finished;
use std::fmt;
use stepwell_core::event::{Message, TokenUsage};
use stepwell_core::run::Outcome;
use stepwell_core::transcript::Transcript;

/// The result of a turn. Its `Debug` output holds nothing of the conversation.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct TurnResult<T = String> {
    /// The answer: the text of the last message, or a value of the type that was asked for. In
    /// [`Error::result`](crate::Error::result), which has no answer, it is `()`.
    pub output: T,
    end: Finished,
}

impl<T> fmt::Debug for TurnResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnResult")
            .field("outcome", &self.end.outcome)
            .field("messages", &self.end.transcript.messages().len())
            .field("usage", &self.end.usage)
            .field("hops", &self.end.hops)
            .finish_non_exhaustive()
    }
}

impl<T: Output> TurnResult<T> {
    /// Reads the answer of a turn that has succeeded.
    pub(crate) fn of_end(end: Finished) -> Result<Self, Box<Finished>> {
        match T::of_end(&end) {
            Ok(output) => Ok(Self { output, end }),
            Err(_) => Err(Box::new(end)),
        }
    }
}

impl TurnResult<()> {
    /// Returns what there is of a turn without an answer.
    pub(crate) fn without_answer(end: Finished) -> Self {
        Self { output: (), end }
    }
}

impl<T> TurnResult<T> {
    /// Returns the text of the last message of the model in this turn. Empty if there is none.
    #[must_use]
    pub fn text(&self) -> String {
        self.end.text()
    }

    /// Returns the text of all messages of the model in this turn, as it was shown: with a line break between the texts
    /// before and after tool calls, as [`TextOptions`](stepwell_core::run::TextOptions) has it.
    #[must_use]
    pub fn full_text(&self) -> String {
        self.end.full_text()
    }

    /// Returns the messages of the conversation after the turn, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.end.transcript.messages()
    }

    /// Returns the transcript after the turn: for [`Run::history`](crate::Run::history), say.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.end.transcript
    }

    /// Returns the tokens that the turn used, over all its hops.
    #[must_use]
    pub fn usage(&self) -> &TokenUsage {
        &self.end.usage
    }

    /// Returns how many answers the model gave: one, and one more for each round of tools.
    #[must_use]
    pub fn hops(&self) -> u32 {
        self.end.hops
    }

    /// Returns how the turn ended.
    #[must_use]
    pub fn stop_reason(&self) -> &Outcome {
        &self.end.outcome
    }
}
