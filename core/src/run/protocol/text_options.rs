//! The visible part of the model's text, where it differs from the text itself.

use crate::event::{AssistantMessage, Message};
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// The options for showing the model's text. They change only the events of the stream: the history, and with it the
/// text that the model reads again, stays as it was written.
///
/// [`shown`](Self::shown) returns the same text at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct TextOptions {
    /// Inserts a line break before the first text after tool calls, so that the texts of two hops do not run together.
    /// There is none if the turn has shown no text before, or if a line break is already there. The line break is a
    /// delta of the message that follows it. The default is `true`. An app that shows each message separately does not
    /// need it.
    pub break_after_tools: bool,
    /// Holds a message back until its first character that is not a blank: a message of blanks only is not shown at
    /// all. Other messages are shown with their leading blanks. The default is `false`.
    pub drop_blank: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            break_after_tools: true,
            ..Self::AS_WRITTEN
        }
    }
}

impl TextOptions {
    /// Shows all text as the model wrote it, each message separately.
    pub const AS_WRITTEN: Self = Self {
        break_after_tools: false,
        drop_blank: false,
    };

    /// The text since the last user message, as it is shown.
    #[must_use]
    pub fn shown(&self, transcript: &Transcript) -> String {
        let messages = transcript.messages();
        let start = messages
            .iter()
            .rposition(|message| matches!(message, Message::User(_)))
            .map_or(0, |at| at + 1);
        let mut text = String::new();
        for (at, message) in messages.iter().enumerate().skip(start) {
            let Some(content) = self.content(message) else {
                continue;
            };
            if self.breaks(messages, at, content) {
                text.push('\n');
            }
            text.push_str(content);
        }
        text
    }

    /// Returns the visible text of the message at `at`; empty if it is not the model's.
    pub(crate) fn shown_message(&self, messages: &[Message], at: usize) -> String {
        let Some(content) = messages.get(at).and_then(|message| self.content(message)) else {
            return String::new();
        };
        let line_break = if self.breaks(messages, at, content) {
            "\n"
        } else {
            ""
        };
        format!("{line_break}{content}")
    }

    /// Returns the visible text of a message of the model.
    pub(in crate::run) fn content<'a>(&self, message: &'a Message) -> Option<&'a str> {
        let Message::Assistant(AssistantMessage { content, .. }) = message else {
            return None;
        };
        let content = content.as_deref()?;
        let is_hidden = content.is_empty() || (self.drop_blank && is_blank(content));
        (!is_hidden).then_some(content)
    }

    /// Returns whether a line break goes before the text that the message at `at` begins with.
    pub(in crate::run) fn breaks(&self, messages: &[Message], at: usize, beginning: &str) -> bool {
        if !self.break_after_tools || beginning.starts_with('\n') {
            return false;
        }
        let mut has_calls = false;
        for message in messages[..at.min(messages.len())].iter().rev() {
            if let Message::User(_) = message {
                return false;
            }
            if let Message::Assistant(message) = message {
                has_calls |= !message.tool_calls.is_empty();
            }
            if let Some(content) = self.content(message) {
                return has_calls && !content.ends_with('\n');
            }
        }
        false
    }
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}
