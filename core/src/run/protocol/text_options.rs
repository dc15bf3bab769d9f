//! What the user is shown of the model's text, where that is not just what it wrote.

use crate::conversation::Conversation;
use crate::event::{AssistantMessage, Message};
use serde::{Deserialize, Serialize};

/// How the model's text is shown. It changes the events of the stream alone: the history, and with it what the model
/// reads of itself, stays as it was written.
///
/// [`shown`](Self::shown) gives the same text in one piece as the events do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct TextOptions {
    /// A line break goes before the first text after tool calls, so that the texts of two hops do not run together.
    /// There is none where nothing was shown before in the turn, nor where one stands there already. It comes as a
    /// delta of the message that it goes before. The default: `true`. An app that shows each message by itself needs it
    /// not.
    pub break_after_tools: bool,
    /// A message is shown from its first character on that is no blank: one of nothing but blanks is not shown at all.
    /// The blanks that others begin with are shown with them. The default: `false`.
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
    /// All is shown as the model wrote it, each message by itself.
    pub const AS_WRITTEN: Self = Self {
        break_after_tools: false,
        drop_blank: false,
    };

    /// The text since the last user message, as it is shown.
    #[must_use]
    pub fn shown(&self, conversation: &Conversation) -> String {
        let messages = conversation.messages();
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

    /// What is shown of the message at `at`, if it is the model's; else nothing.
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

    /// What is shown of a message of the model's.
    pub(in crate::run) fn content<'a>(&self, message: &'a Message) -> Option<&'a str> {
        let Message::Assistant(AssistantMessage { content, .. }) = message else {
            return None;
        };
        let content = content.as_deref()?;
        let is_hidden = content.is_empty() || (self.drop_blank && is_blank(content));
        (!is_hidden).then_some(content)
    }

    /// Whether a line break goes before the text that the message at `at` begins with.
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
