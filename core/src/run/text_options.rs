//! What the person is shown of the model's text, where that is not just what it wrote.

use crate::conversation::Conversation;
use crate::event::{AssistantMessage, Event, Message, TextMessageRole};
use serde::{Deserialize, Serialize};

/// How the model's text is shown. It changes the events of the stream alone: the history, and with it what the model
/// reads of itself, stays as it was written.
///
/// [`shown`](Self::shown) gives the same text in one piece as the events do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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

    pub(super) fn as_written() -> Self {
        Self::AS_WRITTEN
    }

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
    fn content<'a>(&self, message: &'a Message) -> Option<&'a str> {
        let Message::Assistant(AssistantMessage { content, .. }) = message else {
            return None;
        };
        let content = content.as_deref()?;
        let is_hidden = content.is_empty() || (self.drop_blank && is_blank(content));
        (!is_hidden).then_some(content)
    }

    /// Whether a line break goes before the text that the message at `at` begins with.
    pub(super) fn breaks(&self, messages: &[Message], at: usize, beginning: &str) -> bool {
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

/// The options at work on a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TextLayer {
    #[serde(skip)]
    options: TextOptions,
    /// The beginnings of the messages of which nothing but blanks has come.
    held: Vec<Event>,
}

/// What becomes of a piece of text.
pub(super) enum Piece {
    /// It is shown as it is.
    Plain,
    /// It is not shown yet, or never.
    Held,
    /// It is the first that is shown of its message.
    First {
        /// The message's beginning, if it was held back.
        start: Option<Box<Event>>,
        /// Whether a line break goes before it.
        breaks: bool,
    },
}

impl TextLayer {
    /// A layer for these options; nothing if they are off. What an earlier one held back is kept.
    pub(super) fn new(options: TextOptions, before: Option<Self>) -> Option<Self> {
        if options == TextOptions::AS_WRITTEN {
            return None;
        }
        let held = before.map_or_else(Vec::new, |before| before.held);
        Some(Self { options, held })
    }

    /// The beginnings that were held back for an earlier configuration.
    pub(super) fn into_held(self) -> Vec<Event> {
        self.held
    }

    /// The stream is over: what it held back is never shown.
    pub(super) fn forget(&mut self) {
        self.held.clear();
    }

    /// An event that is no piece of text. Whether it is shown.
    pub(super) fn shows(&mut self, event: &Event, conversation: &Conversation) -> bool {
        match event {
            Event::TextMessageStart(start) => {
                let role = start.role.unwrap_or(TextMessageRole::Assistant);
                let message = conversation.message(&start.message_id);
                let is_held = self.options.drop_blank
                    && role == TextMessageRole::Assistant
                    && message.is_some_and(|message| {
                        matches!(message, Message::Assistant(_))
                            && self.options.content(message).is_none()
                    });
                if is_held && self.place(&start.message_id).is_none() {
                    self.held.push(event.clone());
                }
                !is_held
            }
            Event::TextMessageEnd(end) => match self.place(&end.message_id) {
                Some(at) => {
                    self.held.remove(at);
                    false
                }
                None => true,
            },
            _ => true,
        }
    }

    /// Whether a piece that begins here goes on with a message that is shown already, as most do.
    #[inline]
    pub(super) fn is_shown(&self, from: usize) -> bool {
        from > 0 && self.held.is_empty()
    }

    /// A piece that the text of the message at `at` ends with; `from` is where it begins.
    pub(super) fn piece(&mut self, at: usize, from: usize, conversation: &Conversation) -> Piece {
        if self.is_shown(from) {
            return Piece::Plain;
        }
        let messages = conversation.messages();
        let Some(message) = messages.get(at) else {
            return Piece::Plain;
        };
        let place = self.place(message.id());
        if from > 0 && place.is_none() {
            return Piece::Plain;
        }
        let Some(content) = self.options.content(message) else {
            return match place {
                Some(_) => Piece::Held,
                None => Piece::Plain,
            };
        };
        Piece::First {
            start: place.map(|place| Box::new(self.held.remove(place))),
            breaks: self.options.breaks(messages, at, content),
        }
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.held.iter().position(
            |event| matches!(event, Event::TextMessageStart(start) if start.message_id == *id),
        )
    }
}
