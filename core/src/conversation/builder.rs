use super::LiveCall;
use crate::MessageId;
use crate::event::{Message, MessageContent, ToolMessage};

/// The tool messages of a round, in the order of the calls: one for each call that came to an end, none for those that
/// are pending or running, nor for those that the backend answered itself.
#[must_use]
pub fn tool_messages(calls: &[LiveCall], message_id: impl Fn(usize) -> MessageId) -> Vec<Message> {
    calls
        .iter()
        .enumerate()
        .filter_map(|(index, call)| tool_message(call, message_id(index)))
        .collect()
}

/// The tool message that answers `call`, if it came to an end here. A failed call's message holds the error.
#[must_use]
pub fn tool_message(call: &LiveCall, id: MessageId) -> Option<Message> {
    if !call.status.is_final() {
        return None;
    }
    let (content, error) = match call.result.as_ref()? {
        Ok(output) => (output.content.clone(), None),
        Err(failure) => (
            MessageContent::Text(failure.message.clone()),
            Some(failure.message.clone()),
        ),
    };
    Some(Message::Tool(ToolMessage {
        id,
        tool_call_id: call.id.clone(),
        content,
        error,
        ..ToolMessage::default()
    }))
}
