use super::LiveCall;
use crate::MessageId;
use crate::event::{ContentPart, Message, MessageContent, TextPart, ToolMessage};
use crate::tool::ToolResult;

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

/// What the model is shown of a call's result. It is told when the call ran with other arguments than its own.
#[must_use]
pub fn shown_result(call: &LiveCall, result: &ToolResult) -> MessageContent {
    let content = match result {
        Ok(output) => output.content.clone(),
        Err(failure) => MessageContent::Text(failure.message.clone()),
    };
    let Some(edited) = &call.edited else {
        return content;
    };
    let note = format!("The user changed the arguments of this call to {edited} before it ran.");
    match content {
        MessageContent::Text(text) => MessageContent::Text(format!("{note}\n{text}")),
        MessageContent::Parts(mut parts) => {
            let part = TextPart {
                text: note,
                ..TextPart::default()
            };
            parts.insert(0, ContentPart::Text(part));
            MessageContent::Parts(parts)
        }
    }
}

/// The tool message that answers `call`, if it came to an end here. A failed call's message holds the error.
#[must_use]
pub fn tool_message(call: &LiveCall, id: MessageId) -> Option<Message> {
    if !call.status.is_final() {
        return None;
    }
    let result = call.result.as_ref()?;
    let content = shown_result(call, result);
    let error = result.as_ref().err().map(|failure| failure.message.clone());
    Some(Message::Tool(ToolMessage {
        id,
        tool_call_id: call.id.clone(),
        content,
        error,
        ..ToolMessage::default()
    }))
}
