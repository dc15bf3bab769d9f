//! The results of calls, in snapshots and as events.

use crate::turn::rounds::Rounds;
use stepwell_core::ToolCallId;
use stepwell_core::event::{Event, Message, ToolCallResult, ToolMessage, ToolRole};
use stepwell_core::transcript::{LiveCall, Transcript, shown_result};
use stepwell_io::tool::{ToolCallStatus, ToolResult};

/// Notes the results in a snapshot as reported.
pub(super) fn note_results(messages: &[Message], rounds: &mut Rounds) {
    for message in messages {
        if let Message::Tool(result) = message {
            rounds.mark_known(&result.tool_call_id);
        }
    }
}

/// Returns the reported results of the round under way. They join the history once the round is over.
pub(super) fn told_results(transcript: &Transcript, rounds: &Rounds) -> Vec<Message> {
    let calls = transcript.calls().iter();
    let told = calls.filter(|call| rounds.knows(&call.id));
    let told = told.filter(|call| result_of(transcript, &call.id).is_none());
    let results = told.filter_map(|call| live_result(transcript, &call.id, rounds));
    results.map(Message::Tool).collect()
}

/// The results that the client has brought, and that are yet to be stored: the client has them, and a snapshot without them
/// would take them away.
pub(super) fn brought_results(
    brought: &[(ToolCallId, ToolResult)],
    transcript: &Transcript,
    rounds: &Rounds,
) -> Vec<Message> {
    let results = brought.iter().filter_map(|(id, result)| {
        let call = transcript.call_by_id(id)?;
        let is_awaited = call.status == ToolCallStatus::Deferred;
        is_awaited.then(|| Message::Tool(result_message(call, result, rounds)))
    });
    results.collect()
}

/// Returns the result of a call of the round under way.
pub(super) fn live_result(
    transcript: &Transcript,
    call: &ToolCallId,
    rounds: &Rounds,
) -> Option<ToolMessage> {
    let call = transcript.call_by_id(call)?;
    let result = call.result.as_ref().filter(|_| call.status.is_final())?;
    Some(result_message(call, result, rounds))
}

fn result_message(call: &LiveCall, result: &ToolResult, rounds: &Rounds) -> ToolMessage {
    ToolMessage {
        id: rounds.result_id(call.key),
        tool_call_id: call.id.clone(),
        content: shown_result(call, result),
        error: result.as_ref().err().map(|failure| failure.message.clone()),
        ..ToolMessage::default()
    }
}

pub(super) fn result_of<'a>(
    transcript: &'a Transcript,
    call: &ToolCallId,
) -> Option<&'a ToolMessage> {
    transcript
        .messages()
        .iter()
        .find_map(|message| match message {
            Message::Tool(result) if result.tool_call_id == *call => Some(result),
            _ => None,
        })
}

/// A result of the history, as an event.
pub(super) fn result_event(result: &ToolMessage) -> Event {
    ToolCallResult {
        message_id: result.id.clone(),
        tool_call_id: result.tool_call_id.clone(),
        content: result.content.clone(),
        role: Some(ToolRole::Tool),
        common: None,
    }
    .into()
}
