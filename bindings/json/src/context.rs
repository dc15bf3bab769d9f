use serde::Deserialize;
use stepwell_core::MessageId;
use stepwell_core::run::{self, ContextOverflow};
use stepwell_ffi::ContextMessage;

/// A conversation that does not fit the model's context, as in the effect `trimContext`.
#[derive(Debug, Deserialize)]
pub(crate) struct Overflow {
    tokens: u64,
    window: u64,
    messages: Vec<ContextMessage>,
}

impl Overflow {
    /// Returns the ids of the newest messages that fill no more than this part of the room, for `contextTrimmed`.
    #[must_use]
    pub(crate) fn newest(self, part: f64) -> Vec<String> {
        let messages = self.messages.into_iter();
        let message = |message: ContextMessage| run::ContextMessage {
            id: message.message_id.into(),
            tokens: message.tokens,
        };
        let overflow = ContextOverflow {
            tokens: self.tokens,
            window: self.window,
            messages: messages.map(message).collect(),
        };
        let newest = overflow.newest(part).into_iter();
        newest.map(MessageId::into_string).collect()
    }
}
