//! Messages with ids of their own, for histories that an app makes.

use stepwell_core::event::{AssistantMessage, Message, MessageContent};
use uuid::Uuid;

/// Returns a user's message, with a random id: a text, or texts and [media](crate::media).
///
/// ```
/// use stepwell_io::message::{Transcript, assistant, user};
///
/// let history = Transcript::from_iter([user("I am Alice."), assistant("Hello, Alice!")]);
/// assert_eq!(history.iter().count(), 2);
/// ```
#[must_use]
pub fn user(content: impl Into<MessageContent>) -> Message {
    Message::user(id(), content)
}

/// Returns a message of the model, with a random id.
#[must_use]
pub fn assistant(text: impl Into<String>) -> Message {
    Message::Assistant(AssistantMessage {
        id: id().into(),
        content: Some(text.into()),
        ..AssistantMessage::default()
    })
}

/// Returns a system message, with a random id. An agent's instructions belong in
/// [`AgentBuilder::instructions`](crate::AgentBuilder::instructions) instead.
#[must_use]
pub fn system(text: impl Into<String>) -> Message {
    Message::system(id(), text)
}

fn id() -> String {
    Uuid::new_v4().to_string()
}
