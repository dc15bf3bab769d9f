use crate::event::{Event, Message, TextMessageRole};
use crate::run::protocol::TextOptions;
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// The options at work on a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TextLayer {
    #[serde(skip)]
    options: TextOptions,
    /// The beginnings of the messages of which nothing but blanks has come.
    held: Vec<Event>,
}

/// The treatment of a delta of text.
pub(crate) enum Piece {
    /// The delta is shown unchanged.
    Plain,
    /// The delta is not shown yet, or never.
    Held,
    /// The delta is the first of its message that is shown.
    First {
        /// The message's beginning, if it was held back.
        start: Option<Box<Event>>,
        /// Whether a line break precedes the delta.
        breaks: bool,
    },
}

impl TextLayer {
    /// A layer for these options; nothing if they are off. What an earlier one held back is kept.
    pub(crate) fn new(options: TextOptions, before: Option<Self>) -> Option<Self> {
        if options == TextOptions::AS_WRITTEN {
            return None;
        }
        let held = before.map_or_else(Vec::new, |before| before.held);
        Some(Self { options, held })
    }

    /// The beginnings that were held back for an earlier configuration.
    pub(crate) fn into_held(self) -> Vec<Event> {
        self.held
    }

    /// The stream is over: what it held back is never shown.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
    }

    /// Handles an event that is not a delta of text. Returns whether the event is shown.
    pub(crate) fn shows(&mut self, event: &Event, transcript: &Transcript) -> bool {
        match event {
            Event::TextMessageStart(start) => {
                let role = start.role.unwrap_or(TextMessageRole::Assistant);
                let message = transcript.message(&start.message_id);
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

    /// Returns whether a delta that begins here continues a message that is already shown, as most do.
    #[inline]
    pub(crate) fn is_shown(&self, from: usize) -> bool {
        from > 0 && self.held.is_empty()
    }

    /// Reads a delta that ends the text of the message at `at`; `from` is where the delta begins.
    pub(crate) fn piece(&mut self, at: usize, from: usize, transcript: &Transcript) -> Piece {
        if self.is_shown(from) {
            return Piece::Plain;
        }
        let messages = transcript.messages();
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
