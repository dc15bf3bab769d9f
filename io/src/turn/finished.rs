//! A turn that is over.

use serde_json::Value;
use std::fmt;
use stepwell_core::event::{Message, TokenUsage};
use stepwell_core::run::{ModelName, Outcome, TextOptions};
use stepwell_core::transcript::Transcript;

/// The end of a turn, however it ended: of [`TurnEvents`](crate::turn::TurnEvents). Its `Debug` output says how the turn ended, and holds nothing of the conversation.
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
    /// The model that was asked last: with a fallback, the one whose answer or failure ended the turn. Absent for a turn
    /// that never began.
    pub model: Option<ModelName>,
    /// The typed answer, if one was asked for and the turn has succeeded.
    pub output: Option<Value>,
    /// The options with which the turn's text was shown.
    pub(crate) shown_as: TextOptions,
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
    /// Returns the end of a turn that never began.
    pub(crate) fn without_turn(outcome: Outcome) -> Self {
        Self {
            outcome,
            transcript: Transcript::default(),
            usage: TokenUsage::default(),
            hops: 0,
            model: None,
            output: None,
            shown_as: TextOptions::default(),
        }
    }

    /// Returns the text of the last message of the model in this turn. Empty if there is none.
    #[must_use]
    pub fn text(&self) -> String {
        let last = self.transcript.messages().iter().rev();
        let mut own =
            last.take_while(|message| self.hops > 0 && !matches!(message, Message::User(_)));
        let text = own.find_map(|message| match message {
            Message::Assistant(message) => message.content.clone().filter(|text| !text.is_empty()),
            _ => None,
        });
        text.unwrap_or_default()
    }

    /// Returns the text of all messages of the model in this turn, as it was shown: with a line break between the texts
    /// before and after tool calls, as [`TextOptions`] has it. Empty if the turn did not begin.
    #[must_use]
    pub fn full_text(&self) -> String {
        match self.hops {
            // The last text of the conversation belongs to an earlier turn.
            0 => String::new(),
            _ => self.shown_as.shown(&self.transcript),
        }
    }
}
