use crate::event::Message;
use std::ops::Deref;

/// A message as a request carries it: the conversation's own, or a changed copy.
///
/// Takes the room of two pointers, so that a list of messages is small next to the conversation.
#[derive(Clone, Debug)]
pub enum SentMessage<'a> {
    /// The conversation's own message.
    Kept(&'a Message),
    /// A copy with changes, or a message that the conversation does not have.
    Changed(Box<Message>),
}

impl<'a> SentMessage<'a> {
    /// Returns the message, to be changed. The conversation's own is copied first.
    pub fn to_mut(&mut self) -> &mut Message {
        if let Self::Kept(message) = *self {
            *self = message.clone().into();
        }
        match self {
            Self::Changed(message) => message,
            Self::Kept(_) => unreachable!("it was copied"),
        }
    }

    /// Returns the message itself, or a copy of the conversation's own.
    #[must_use]
    pub fn into_message(self) -> Message {
        match self {
            Self::Kept(message) => message.clone(),
            Self::Changed(message) => *message,
        }
    }

    /// Returns the messages of a conversation, none of them changed.
    pub fn all(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Self> {
        messages.into_iter().map(Self::Kept).collect()
    }

    /// Returns references to the messages, which [`ModelRequest`](super::ModelRequest) takes.
    #[must_use]
    pub fn references(messages: &'a [Self]) -> Vec<&'a Message> {
        messages.iter().map(Deref::deref).collect()
    }
}

impl Deref for SentMessage<'_> {
    type Target = Message;

    fn deref(&self) -> &Message {
        match self {
            Self::Kept(message) => message,
            Self::Changed(message) => message,
        }
    }
}

impl From<Message> for SentMessage<'_> {
    fn from(message: Message) -> Self {
        Self::Changed(Box::new(message))
    }
}

impl PartialEq for SentMessage<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
