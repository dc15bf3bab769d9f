//! An answer without text, call or media.
//!
//! Owns `empty`. Whether the model is asked again is in `tries`.

use super::Turn;
use crate::dialect::Dialect;
use crate::event::{Message, UserMessage};

/// The last message of the request that asks again. No history keeps it.
const NOTE: &str = "Your last answer was empty. Answer in words, or call a tool if you need one.";

impl Turn {
    /// Returns whether the hop's stream has brought nothing that a user can be shown. Reasoning alone is no answer. The
    /// run of an AG-UI agent may do its work by state, activities or events of its own, so it is never empty.
    pub(in crate::run) fn is_answer_empty(&self) -> bool {
        if self.setup.config().endpoint.dialect == Dialect::AgUi {
            return false;
        }
        let mut brought = self.transcript.messages().iter();
        let is_blank = |message: &Message| match message {
            Message::Reasoning(_) => true,
            Message::Assistant(said) => {
                let text = said.content.as_deref().unwrap_or_default();
                text.trim().is_empty() && said.tool_calls.is_empty()
            }
            _ => false,
        };
        brought.by_ref().skip(self.answer_start()).all(is_blank)
    }

    /// Returns the note that tells the model that its last answer was empty, if the hop's request has one.
    pub(in crate::run) fn empty_answer_note(&self) -> Option<Message> {
        self.empty.is_noted().then(|| {
            Message::User(UserMessage {
                id: format!("{}-empty-answer", self.ids.run_id).into(),
                content: NOTE.into(),
                ..UserMessage::default()
            })
        })
    }
}
