use super::LiveCall;
use crate::MessageId;
use crate::event::{ContentPart, Message, MessageContent, TextPart, ToolMessage};
use crate::tool::{ToolFailure, ToolResult};

/// Builds the tool messages of a round, in the order of the calls: one for each call that has ended, none for those
/// that are pending or running, or that the backend answered itself.
#[must_use]
pub fn tool_messages(calls: &[LiveCall], message_id: impl Fn(usize) -> MessageId) -> Vec<Message> {
    calls
        .iter()
        .enumerate()
        .filter_map(|(index, call)| tool_message(call, message_id(index)))
        .collect()
}

/// Returns the content of a call's result as the model sees it. A note tells the model when the call ran with other
/// arguments than its own.
#[must_use]
pub fn shown_result(call: &LiveCall, result: &ToolResult) -> MessageContent {
    let content = match result {
        Ok(output) => output.content.clone(),
        Err(failure) => MessageContent::Text(failure.message.clone()),
    };
    let Some(edited) = &call.edited else {
        return content;
    };
    let note = edited_note(edited);
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

/// The result of a call that the model was shown as `content`: what [`shown_result`] was given.
pub(crate) fn result_shown_as(
    call: &LiveCall,
    content: MessageContent,
    failure: Option<ToolFailure>,
) -> ToolResult {
    if let Some(failure) = failure {
        return Err(failure);
    }
    let content = match &call.edited {
        Some(arguments) => without_edited_note(content, arguments),
        None => content,
    };
    Ok(content.into())
}

/// Removes the note that tells the model about edited arguments from a result.
pub(crate) fn without_edited_note(content: MessageContent, arguments: &str) -> MessageContent {
    let note = edited_note(arguments);
    match content {
        MessageContent::Text(text) => {
            let own = text.strip_prefix(&note);
            let own = own.and_then(|own| own.strip_prefix('\n'));
            MessageContent::Text(own.map(str::to_owned).unwrap_or(text))
        }
        MessageContent::Parts(mut parts) => {
            let is_note =
                |part: &ContentPart| matches!(part, ContentPart::Text(part) if part.text == note);
            if parts.first().is_some_and(is_note) {
                parts.remove(0);
            }
            MessageContent::Parts(parts)
        }
    }
}

fn edited_note(arguments: &str) -> String {
    format!("The user changed the arguments of this call to {arguments} before it ran.")
}

/// Builds the tool message that answers `call`, if the call has ended here. A failed call's message holds the error.
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
