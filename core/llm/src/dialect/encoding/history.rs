use crate::event::{Message, TextualMessage, ToolMessage, UserMessage};

/// A part of the conversation that most formats treat as one unit.
#[derive(Debug)]
pub(in super::super) enum Exchange<'a> {
    /// The app's instructions, which rank above the user's messages.
    Developer(&'a TextualMessage),
    /// The app's instructions.
    System(&'a TextualMessage),
    /// A message of the user.
    User(&'a UserMessage),
    /// The consecutive messages of the model: assistant and reasoning messages, in order.
    Answer(Vec<&'a Message>),
    /// Consecutive results of tools.
    Results(Vec<&'a ToolMessage>),
}

/// Splits the conversation into exchanges. Activities are left out.
pub(in super::super) fn exchanges<'a>(messages: &[&'a Message]) -> Vec<Exchange<'a>> {
    let mut exchanges = Vec::with_capacity(messages.len());
    for &message in messages {
        match message {
            Message::Activity(_) => {}
            Message::Developer(message) => exchanges.push(Exchange::Developer(message)),
            Message::System(message) => exchanges.push(Exchange::System(message)),
            Message::User(message) => exchanges.push(Exchange::User(message)),
            Message::Assistant(_) | Message::Reasoning(_) => match exchanges.last_mut() {
                Some(Exchange::Answer(answer)) => answer.push(message),
                _ => exchanges.push(Exchange::Answer(vec![message])),
            },
            Message::Tool(result) => match exchanges.last_mut() {
                Some(Exchange::Results(results)) => results.push(result),
                _ => exchanges.push(Exchange::Results(vec![result])),
            },
        }
    }
    exchanges
}
