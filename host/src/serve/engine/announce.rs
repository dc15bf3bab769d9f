//! How a turn begins in its log, and where its calls stand.

use super::super::rounds::Rounds;
use super::super::store_trouble::custom;
use super::call_labels::CallLabels;
use super::event_writer::{EventWriter, Written};
use serde_json::json;
use std::collections::HashMap;
use stepwell_core::ToolCallId;
use stepwell_core::conversation::{Conversation, shown_result};
use stepwell_core::event::{
    Event, Interrupt, Message, MessagesSnapshot, PROTOCOL_VERSION, ResumeStatus, RunStarted,
    ToolCallResult, ToolMessage, ToolRole,
};
use stepwell_io::store::TurnKey;
use stepwell_io::{ToolCallStatus, ToolCallUpdate, ToolRegistry};

/// Where a turn stands that a host begins to tell of.
pub(super) struct Stands<'a> {
    pub(super) key: &'a TurnKey,
    /// The conversation, if another owner had begun the turn.
    pub(super) conversation: Option<&'a Conversation>,
    /// What the agent behind the server asks.
    pub(super) asks: &'a [Interrupt],
    /// What its log has.
    pub(super) written: &'a Written,
    pub(super) tools: &'a ToolRegistry,
}

/// Says that the turn begins; or, if another owner had begun it, where it stands. Gives the questions that the log has
/// open, by their ids.
pub(super) async fn announce(
    stands: Stands<'_>,
    writer: &mut EventWriter,
    rounds: &mut Rounds,
    labels: &mut CallLabels,
) -> HashMap<String, Interrupt> {
    let Stands {
        key,
        conversation,
        asks,
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
        return HashMap::new();
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
    // An answer that was cut has its mark here, and its calls have results: whoever watches begins anew from here.
    let mut messages = conversation.messages().to_vec();
    messages.extend(told_results(conversation, rounds));
    let snapshot = MessagesSnapshot {
        messages,
        ..MessagesSnapshot::default()
    };
    let snapshot = snapshot.into();
    labels.note(&snapshot);
    writer.append(snapshot).await;
    let mut open = open_questions(&written.events);
    let is_void = |id: &String| {
        let asks_again = asks.iter().any(|asked| asked.id == *id);
        let mut calls = conversation.calls().iter();
        let is_of_call = calls.any(|call| {
            call.status == ToolCallStatus::AwaitingApproval && *id == question_id(&call.id)
        });
        !asks_again && !is_of_call
    };
    for id in open.keys().filter(|id| is_void(id)) {
        let value = json!({ "interruptId": id, "status": ResumeStatus::Cancelled });
        writer.append(custom("interrupt_answered", value)).await;
    }
    open.retain(|id, _| !is_void(id));
    for asked in asks.iter().filter(|asked| !open.contains_key(&asked.id)) {
        writer.append(custom("interrupt", json!(asked))).await;
    }
    open
}

/// The id of the question whether a call of a stored turn may run: the same after a restart.
pub(super) fn question_id(call: &ToolCallId) -> String {
    format!("interrupt-{call}")
}

/// The results of the round under way that were told. They have their place in the history once the round is over.
fn told_results<'a>(
    conversation: &'a Conversation,
    rounds: &'a Rounds,
) -> impl Iterator<Item = Message> + 'a {
    let calls = conversation.calls().iter();
    let told = calls.filter(|call| call.status.is_final() && rounds.knows(&call.id));
    let told = told.filter(|call| result_of(conversation, &call.id).is_none());
    told.filter_map(|call| {
        let result = call.result.as_ref()?;
        Some(Message::Tool(ToolMessage {
            id: rounds.result_id(call.key),
            tool_call_id: call.id.clone(),
            content: shown_result(call, result),
            error: result.as_ref().err().map(|failure| failure.message.clone()),
            ..ToolMessage::default()
        }))
    })
}

/// The questions that were told and not answered.
fn open_questions(events: &[Event]) -> HashMap<String, Interrupt> {
    let mut open = HashMap::new();
    for event in events {
        let Event::Custom(custom) = event else {
            continue;
        };
        match custom.name.as_str() {
            "interrupt" => {
                if let Ok(asked) = serde_json::from_value::<Interrupt>(custom.value.clone()) {
                    open.insert(asked.id.clone(), asked);
                }
            }
            "interrupt_answered" => {
                let id = custom.value["interruptId"].as_str();
                id.and_then(|id| open.remove(id));
            }
            _ => {}
        }
    }
    open
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
