//! The mark of an answer that was cut by its host's death: its visible part stays, and is not sent to the model.

use crate::ToolCallId;
use crate::dialect::SentMessage;
use crate::event::{AssistantMessage, Message, MessageContent, Metadata, ToolMessage};
use crate::transcript::Transcript;
use serde_json::Value;

/// The key in the metadata of each message of a cut answer; its value is `true`. Cut messages without tool calls are
/// shown, but not sent to the model, which would continue in the middle of a word or reject them.
pub const CUT: &str = "cut";

pub(in crate::run) const NOT_RUN: &str =
    "the call was not run: the answer that asked for it broke off";

/// Returns the messages that a conversation lacks of an answer cut by its host's death. These are the messages that the
/// user was `shown` and that the conversation has in part or not at all, marked as cut. Each call in them gets a result
/// that says that it was not run. Use it for a turn that cannot continue; for one that can, send
/// [`Input::Shown`](crate::run::Input::Shown).
pub fn cut_messages(transcript: &Transcript, shown: Vec<Message>) -> Vec<Message> {
    let mut cut = Vec::new();
    for mut message in shown {
        if !is_new(transcript, &message) {
            continue;
        }
        mark_as_cut(&mut message);
        let calls = asked(&message).into_iter().map(|(call, _)| call);
        let open = calls.filter(|call| !has_result(transcript, call));
        let results: Vec<_> = open.map(not_run).collect();
        cut.push(message);
        cut.extend(results);
    }
    cut
}

/// Returns whether the conversation has less of the message, or nothing.
pub(in crate::run) fn is_new(transcript: &Transcript, shown: &Message) -> bool {
    let known = transcript.message(shown.id());
    match (shown, known) {
        // A user's message is never part of an answer.
        (Message::User(_), _) => false,
        (_, None) => true,
        (Message::Assistant(shown), Some(Message::Assistant(known))) => {
            length(shown) > length(known) || shown.tool_calls.len() > known.tool_calls.len()
        }
        (Message::Reasoning(shown), Some(Message::Reasoning(known))) => {
            shown.content.len() > known.content.len()
        }
        _ => false,
    }
}

pub(in crate::run) fn has_result(transcript: &Transcript, call: &ToolCallId) -> bool {
    let mut messages = transcript.messages().iter();
    messages.any(|message| matches!(message, Message::Tool(result) if result.tool_call_id == *call))
}

pub(in crate::run) fn not_run(call: ToolCallId) -> Message {
    Message::Tool(ToolMessage {
        id: format!("{call}-result").into(),
        tool_call_id: call,
        content: MessageContent::Text(NOT_RUN.to_owned()),
        error: Some(NOT_RUN.to_owned()),
        ..ToolMessage::default()
    })
}

pub(in crate::run) fn mark_as_cut(message: &mut Message) {
    if matches!(message, Message::Assistant(_) | Message::Reasoning(_)) {
        let metadata = message.metadata_mut().get_or_insert_default();
        metadata.insert(CUT.to_owned(), Value::Bool(true));
    }
}

/// Leaves out what the model is not sent of answers that were cut.
pub(in crate::run) fn leave_out_cut(messages: &mut Vec<SentMessage<'_>>) {
    messages.retain(|message| !is_left_out(message));
}

fn is_left_out(message: &Message) -> bool {
    let metadata = match message {
        Message::Assistant(message) if message.tool_calls.is_empty() => &message.metadata,
        Message::Reasoning(message) => &message.metadata,
        _ => return false,
    };
    is_cut(metadata.as_ref())
}

/// Returns whether a message with this metadata belongs to an answer that was cut.
pub(crate) fn is_cut(metadata: Option<&Metadata>) -> bool {
    let mark = metadata.and_then(|metadata| metadata.get(CUT));
    mark == Some(&Value::Bool(true))
}

fn length(message: &AssistantMessage) -> usize {
    let content = message.content.as_ref().map_or(0, String::len);
    let calls = message.tool_calls.iter();
    content
        + calls
            .map(|call| call.function.arguments.len())
            .sum::<usize>()
}

/// The calls that a message asks for, each with its tool.
pub(in crate::run) fn asked(message: &Message) -> Vec<(ToolCallId, String)> {
    let Message::Assistant(message) = message else {
        return Vec::new();
    };
    let calls = message.tool_calls.iter();
    calls
        .map(|call| (call.id.clone(), call.function.name.clone()))
        .collect()
}
