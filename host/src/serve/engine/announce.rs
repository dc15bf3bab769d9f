//! How a turn begins in its log, and where its calls stand.

use super::super::rounds::Rounds;
use super::super::store_trouble::custom;
use super::call_labels::CallLabels;
use super::event_writer::{EventWriter, Written};
use serde_json::json;
use stepwell_core::ToolCallId;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{
    Event, Message, MessagesSnapshot, PROTOCOL_VERSION, RunStarted, ToolCallResult, ToolMessage,
    ToolRole,
};
use stepwell_io::store::TurnKey;
use stepwell_io::{ToolCallStatus, ToolCallUpdate, ToolRegistry};

/// Where a turn stands that a host begins to tell of.
pub(super) struct Stands<'a> {
    pub(super) key: &'a TurnKey,
    /// The conversation, if another owner had begun the turn.
    pub(super) conversation: Option<&'a Conversation>,
    /// What its log has.
    pub(super) written: &'a Written,
    pub(super) tools: &'a ToolRegistry,
}

/// Says that the turn begins; or, if another owner had begun it, where it stands.
pub(super) async fn announce(
    stands: Stands<'_>,
    writer: &mut EventWriter,
    rounds: &mut Rounds,
    labels: &mut CallLabels,
) {
    let Stands {
        key,
        conversation,
        written,
        tools,
    } = stands;
    if written.events.is_empty() {
        let started = RunStarted {
            thread_id: key.thread.thread.clone(),
            run_id: key.turn.clone(),
            protocol_version: Some(PROTOCOL_VERSION.to_owned()),
            ..RunStarted::default()
        };
        writer.append(started.into()).await;
    }
    for event in &written.events {
        labels.note(event);
        if let Event::ToolCallResult(result) = event {
            rounds.is_known(&result.tool_call_id);
        }
    }
    writer.close_open_items().await;
    let Some(conversation) = conversation else {
        return;
    };
    let begun = written.events.iter().filter_map(|event| match event {
        Event::ToolCallStart(start) => Some(start),
        _ => None,
    });
    for start in begun {
        // It is stored, and the owner before could not tell it any more.
        let result = result_of(conversation, &start.tool_call_id);
        if let Some(result) = result.filter(|_| !rounds.knows(&start.tool_call_id)) {
            let status = match result.error {
                None => ToolCallStatus::Completed,
                Some(_) => ToolCallStatus::Failed,
            };
            let (call, name) = (&start.tool_call_id, &start.tool_call_name);
            let label = labels.of(call, name, tools);
            writer.append(tool_status(call, name, &label, status)).await;
            rounds.is_known(&start.tool_call_id);
            writer.append(told(result)).await;
        }
    }
    // What was shown after the last write may be gone, or come again: whoever watches begins anew from here.
    let snapshot = MessagesSnapshot {
        messages: conversation.messages().to_vec(),
        ..MessagesSnapshot::default()
    };
    let snapshot = snapshot.into();
    labels.note(&snapshot);
    writer.append(snapshot).await;
}

/// Where a tool call stands. AG-UI has no event of its own for it.
pub(super) fn progress(update: &ToolCallUpdate, label: &str) -> Event {
    tool_status(&update.tool_call_id, &update.name, label, update.status)
}

fn tool_status(call: &ToolCallId, name: &str, label: &str, status: ToolCallStatus) -> Event {
    let status = match status {
        ToolCallStatus::Streaming => "streaming",
        ToolCallStatus::AwaitingApproval => "awaiting_approval",
        ToolCallStatus::Executing => "executing",
        ToolCallStatus::Deferred => "deferred",
        ToolCallStatus::Completed => "completed",
        ToolCallStatus::Failed => "failed",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
        _ => "pending",
    };
    let value = json!({
        "toolCallId": call,
        "toolName": name,
        "label": label,
        "status": status,
    });
    custom("tool_status", value)
}

fn result_of<'a>(conversation: &'a Conversation, call: &ToolCallId) -> Option<&'a ToolMessage> {
    conversation
        .messages()
        .iter()
        .find_map(|message| match message {
            Message::Tool(result) if result.tool_call_id == *call => Some(result),
            _ => None,
        })
}

/// A result of the history, as an event.
fn told(result: &ToolMessage) -> Event {
    ToolCallResult {
        message_id: result.id.clone(),
        tool_call_id: result.tool_call_id.clone(),
        content: result.content.clone(),
        role: Some(ToolRole::Tool),
        common: None,
    }
    .into()
}
