//! A run's state, for a client that joins it and has nothing of it: the complete messages, and each open item from its
//! beginning.

use crate::turn::event_writer::Written;
use crate::turn::in_runs::started;
use std::collections::{BTreeMap, BTreeSet};
use stepwell_core::event::{
    Event, EventRef, Message, MessageContent, MessagesSnapshot, ReasoningMessageContent,
    StateSnapshot, TextMessageContent, ToolCallArgs, ToolCallResult, ToolRole,
};
use stepwell_core::run::BlockContent;
use stepwell_core::session::{MessageBuilder, SessionError, Turn};
use stepwell_core::{MessageId, ToolCallId};
use stepwell_io::RunId;
use stepwell_io::store::TurnKey;
use stepwell_io::tool::ToolRegistry;

/// An item that has begun, and not ended.
struct OpenItem<'a> {
    id: String,
    start: &'a Event,
    /// The text so far.
    text: String,
}

/// Returns the events that bring a client which has nothing of a run to the end of the turn's log. Open items are in no
/// snapshot: they begin again, and a client adds to them as they continue. `own` are the server's own tools.
///
/// # Errors
/// The path cannot be read as a conversation.
pub(crate) fn prelude(
    mut path: Vec<Turn>,
    written: &Written,
    own: &ToolRegistry,
) -> Result<Vec<Event>, SessionError> {
    let brought = brought_results(path.last_mut(), &written.events);
    let (run_started, open) = open_items(&written.events);
    let mut fold = MessageBuilder::new().transcript(&path)?;
    for event in &written.events {
        if let Event::RunStarted(_) = event {
            for result in results_before_run(fold.messages(), &brought, own) {
                // The result stays: a snapshot that was logged before the run that brought it takes it out again.
                let _ = fold.apply(EventRef::from(&Event::from(result)));
            }
        }
        let is_open =
            item_event(event).is_some_and(|(id, _)| open.iter().any(|open| open.id == id));
        if !is_open {
            // An event that the fold does not take, no client takes.
            let _ = fold.apply(EventRef::from(event));
        }
    }
    let mut prelude: Vec<Event> = run_started.into_iter().cloned().collect();
    let state = fold.shared_state();
    if !state.is_null() && state.as_object().is_none_or(|fields| !fields.is_empty()) {
        let snapshot = state.clone();
        prelude.push(Event::from(StateSnapshot {
            snapshot,
            common: None,
        }));
    }
    prelude.push(Event::from(MessagesSnapshot {
        messages: fold.messages().to_vec(),
        ..MessagesSnapshot::default()
    }));
    for open in open {
        prelude.push(open.start.clone());
        prelude.extend(piece_of(open.start, open.text));
    }
    Ok(prelude)
}

/// The results that the client's tools gave, by their calls, each with its message.
type BroughtResults = BTreeMap<ToolCallId, (MessageContent, Option<MessageId>)>;

/// Takes the blocks out of the turn, because the log has all of it that was shown, and returns what the log lacks: the
/// results of the client's tools.
fn brought_results(turn: Option<&mut Turn>, events: &[Event]) -> BroughtResults {
    let blocks = turn.map(|turn| std::mem::take(&mut turn.blocks));
    let mut brought = BroughtResults::new();
    for stored in blocks.into_iter().flatten() {
        if let BlockContent::ToolResult {
            tool_call_id,
            content,
            message_id,
            ..
        } = stored.block.content
        {
            brought.insert(tool_call_id, (content, message_id));
        }
    }
    for event in events {
        if let Event::ToolCallResult(result) = event {
            brought.remove(&result.tool_call_id);
        }
    }
    brought
}

/// Returns the start of the last run, and the items of that run that have begun and not ended.
fn open_items(events: &[Event]) -> (Option<&Event>, Vec<OpenItem<'_>>) {
    let mut run_started = None;
    let mut open: Vec<OpenItem<'_>> = Vec::new();
    for event in events {
        if let Event::RunStarted(_) = event {
            run_started = Some(event);
            open.clear();
        }
        match item_event(event) {
            Some((id, ItemEvent::Start)) => open.push(OpenItem {
                id,
                start: event,
                text: String::new(),
            }),
            Some((id, ItemEvent::Piece(piece))) => {
                if let Some(open) = open.iter_mut().find(|open| open.id == id) {
                    open.text.push_str(piece);
                }
            }
            Some((id, ItemEvent::End)) => open.retain(|open| open.id != id),
            None => {}
        }
    }
    (run_started, open)
}

/// Returns the results that the next run brings to the calls that have none. Results of the server's own tools are left out:
/// the log reports them later.
fn results_before_run(
    messages: &[Message],
    brought: &BroughtResults,
    own: &ToolRegistry,
) -> Vec<ToolCallResult> {
    let waiting = calls_without_result(messages);
    let waiting = waiting
        .into_iter()
        .filter(|(_, name)| own.get(name).is_none());
    let results = waiting.filter_map(|(call, _)| {
        let (content, message_id) = brought.get(&call).cloned()?;
        Some(ToolCallResult {
            message_id: message_id.unwrap_or_else(|| format!("{call}-result").into()),
            tool_call_id: call,
            content,
            role: Some(ToolRole::Tool),
            common: None,
        })
    });
    results.collect()
}

/// Returns the events that show a turn at its end, if its log was dropped.
///
/// # Errors
/// The path cannot be read as a conversation.
pub(crate) fn dropped(
    turn: &TurnKey,
    run: &RunId,
    path: &[Turn],
) -> Result<[Event; 2], SessionError> {
    let fold = MessageBuilder::new().transcript(path)?;
    let messages = MessagesSnapshot {
        messages: fold.messages().to_vec(),
        ..MessagesSnapshot::default()
    };
    Ok([started(turn, run, None), messages.into()])
}

/// The calls of these messages that have no result there, with their tools.
fn calls_without_result(messages: &[Message]) -> Vec<(ToolCallId, String)> {
    let answered: BTreeSet<_> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool(result) => Some(&result.tool_call_id),
            _ => None,
        })
        .collect();
    let asked = messages.iter().filter_map(|message| match message {
        Message::Assistant(said) => Some(&said.tool_calls),
        _ => None,
    });
    let calls = asked.flatten();
    calls
        .filter(|call| !answered.contains(&call.id))
        .map(|call| (call.id.clone(), call.function.name.clone()))
        .collect()
}

/// The role of an event in its item.
enum ItemEvent<'a> {
    Start,
    Piece(&'a str),
    End,
}

/// The item of an event.
fn item_event(event: &Event) -> Option<(String, ItemEvent<'_>)> {
    let item = |kind: &str, id: &str, is| Some((format!("{kind} {id}"), is));
    match event {
        Event::TextMessageStart(start) => item("text", start.message_id.as_str(), ItemEvent::Start),
        Event::TextMessageContent(piece) => {
            let part = ItemEvent::Piece(&piece.delta);
            item("text", piece.message_id.as_str(), part)
        }
        Event::TextMessageEnd(end) => item("text", end.message_id.as_str(), ItemEvent::End),
        Event::ReasoningStart(start) => item("span", start.message_id.as_str(), ItemEvent::Start),
        Event::ReasoningEnd(end) => item("span", end.message_id.as_str(), ItemEvent::End),
        Event::ReasoningMessageStart(start) => {
            item("reasoning", start.message_id.as_str(), ItemEvent::Start)
        }
        Event::ReasoningMessageContent(piece) => {
            let part = ItemEvent::Piece(&piece.delta);
            item("reasoning", piece.message_id.as_str(), part)
        }
        Event::ReasoningMessageEnd(end) => {
            item("reasoning", end.message_id.as_str(), ItemEvent::End)
        }
        Event::ToolCallStart(start) => item("call", start.tool_call_id.as_str(), ItemEvent::Start),
        Event::ToolCallArgs(piece) => {
            let part = ItemEvent::Piece(&piece.delta);
            item("call", piece.tool_call_id.as_str(), part)
        }
        Event::ToolCallEnd(end) => item("call", end.tool_call_id.as_str(), ItemEvent::End),
        Event::StepStarted(start) => item("step", &start.step_name, ItemEvent::Start),
        Event::StepFinished(end) => item("step", &end.step_name, ItemEvent::End),
        _ => None,
    }
}

/// Returns the content of an open item so far, as one delta.
fn piece_of(start: &Event, text: String) -> Option<Event> {
    if text.is_empty() {
        return None;
    }
    Some(match start {
        Event::TextMessageStart(start) => Event::from(TextMessageContent {
            message_id: start.message_id.clone(),
            delta: text,
            ..TextMessageContent::default()
        }),
        Event::ReasoningMessageStart(start) => Event::from(ReasoningMessageContent {
            message_id: start.message_id.clone(),
            delta: text,
            ..ReasoningMessageContent::default()
        }),
        Event::ToolCallStart(start) => Event::from(ToolCallArgs {
            tool_call_id: start.tool_call_id.clone(),
            delta: text,
            ..ToolCallArgs::default()
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use stepwell_core::run::{Block, TurnStatus};
    use stepwell_core::session::TurnBlock;
    use stepwell_core::tool::Tool;
    use stepwell_core::{CallKey, Timestamp};

    /// A turn that has stored the results of these calls.
    fn turn(calls: &[&str]) -> Turn {
        let blocks = (0..).zip(calls).map(|(index, call)| TurnBlock {
            block: Block {
                sequence: u64::from(index),
                hop: 0,
                content: BlockContent::ToolResult {
                    call: CallKey { hop: 0, index },
                    tool_call_id: (*call).into(),
                    content: "done".into(),
                    is_error: false,
                    message_id: None,
                    failure: None,
                    attached: Default::default(),
                },
            },
            at: Timestamp(0),
        });
        Turn {
            id: "r".into(),
            parent: None,
            history: None,
            message: None,
            status: TurnStatus::Streaming,
            outcome: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            blocks: blocks.collect(),
        }
    }

    #[test]
    fn a_result_of_the_clients_tool_is_in_the_snapshot_and_one_of_the_servers_is_told_later() {
        let call = |id: &str| {
            [
                json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": id, "parentMessageId": "m"}),
                json!({"type": "TOOL_CALL_END", "toolCallId": id}),
            ]
        };
        let mut events = vec![json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r1"})];
        events.extend(call("ours"));
        events.extend(call("theirs"));
        events.extend([
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r1"}),
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r2"}),
        ]);
        let next = events.len() as u64;
        let events = serde_json::from_value(json!(events)).unwrap();
        let written = Written { events, next };
        let mut own = ToolRegistry::new();
        own.add(Tool::new("ours", "Ours.")).unwrap();
        let told = prelude(vec![turn(&["ours", "theirs"])], &written, &own).unwrap();
        let snapshot = serde_json::to_value(told.last()).unwrap();
        let messages = snapshot["messages"].as_array().unwrap();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        let results: Vec<_> = results.map(|result| &result["toolCallId"]).collect();
        assert_eq!(results, ["theirs"], "{snapshot}");
    }
}
