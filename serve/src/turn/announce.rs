//! How a turn begins in its log, and where its calls stand.

use super::brought::RunTerms;
use super::in_runs::started;
use super::runs::{Open, Runs};
use super::shared_state::SharedState;
use crate::turn::call_labels::CallLabels;
use crate::turn::ending::{TOOL_STATUS, custom};
use crate::turn::event_writer::{EventWriter, Written};
use crate::turn::rounds::Rounds;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use stepwell_core::conversation::{Conversation, LiveCall, shown_result};
use stepwell_core::event::{
    Event, Interrupt, Message, MessagesSnapshot, ResumeStatus, RunFinished, RunOutcome,
    ToolCallResult, ToolMessage, ToolRole,
};
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::BlockContent;
use stepwell_core::session::{SessionView, Turn, ViewOptions};
use stepwell_core::{CallKey, ToolCallId};
use stepwell_io::store::{StoreError, TurnKey};
use stepwell_io::{RunId, ToolCallStatus, ToolCallUpdate, ToolRegistry, ToolResult};

/// Where a turn stands that a host begins to tell of.
pub(crate) struct Stands<'a> {
    pub(crate) key: &'a TurnKey,
    /// The run that the turn is in, or was last.
    pub(crate) head: RunHead<'a>,
    /// The runs that were told.
    pub(crate) runs: &'a Runs,
    pub(crate) ids: &'a QuestionIds,
    /// The state that is shared.
    pub(crate) state: Option<&'a SharedState>,
    /// The conversation, if another owner had begun the turn.
    pub(crate) conversation: Option<&'a Conversation>,
    /// The results of the client's tools that were brought to the run, and may not all be stored.
    pub(crate) brought: &'a [(ToolCallId, ToolResult)],
    /// How its calls stand in the store.
    pub(crate) statuses: &'a Statuses,
    /// What the agent behind the server asks.
    pub(crate) asks: &'a [Interrupt],
    /// What its log has.
    pub(crate) written: &'a Written,
    pub(crate) tools: &'a ToolRegistry,
}

/// A run's id, and what its client asked for.
#[derive(Clone, Copy)]
pub(crate) struct RunHead<'a> {
    pub(crate) id: &'a RunId,
    pub(crate) terms: Option<&'a RunTerms>,
    /// Whether the log is yet to be told that it begins.
    pub(crate) begins: bool,
}

/// Says that the turn begins; or, if another owner had begun it, where it stands. Gives the questions that the log has
/// open, by their ids, and the ids of those that it has open and that the turn asks no more.
pub(crate) async fn announce(
    stands: Stands<'_>,
    writer: &mut EventWriter,
    rounds: &mut Rounds,
    labels: &mut CallLabels,
) -> (BTreeMap<String, Interrupt>, BTreeSet<String>) {
    let Stands {
        key,
        head,
        runs,
        ids,
        state,
        conversation,
        brought,
        statuses,
        asks,
        written,
        tools,
    } = stands;
    let begins = head.begins;
    if begins {
        writer.append(started(key, head.id, head.terms)).await;
    }
    for event in &written.events {
        labels.note(event);
        match event {
            Event::ToolCallResult(result) => rounds.is_known(&result.tool_call_id),
            Event::MessagesSnapshot(snapshot) => note_results(&snapshot.messages, rounds),
            _ => {}
        }
    }
    for call in calls_left(&written.events, begins, tools) {
        rounds.is_known(&call);
    }
    let Some(conversation) = conversation else {
        return Default::default();
    };
    let mut open = open_questions(&written.events);
    let is_void = |id: &String| {
        let asks_again = asks.iter().any(|asked| asked.id == *id);
        let mut calls = conversation.calls().iter();
        let is_of_call = calls.any(|call| match call.status {
            ToolCallStatus::AwaitingApproval => *id == ids.of_call(&call.id),
            // Its tool is run again, and may ask the same.
            ToolCallStatus::Executing => statuses.may_ask(call, ids, id),
            _ => false,
        });
        !asks_again && !is_of_call
    };
    if runs.open == Open::Between && !begins {
        // All was told when the last run ended.
        rounds.stand(conversation.calls());
        let void: BTreeSet<_> = open.keys().filter(|id| is_void(id)).cloned().collect();
        open.retain(|id, _| !void.contains(id));
        return (open, void);
    }
    writer.close_open_items().await;
    let begun = written.events.iter().filter_map(|event| match event {
        Event::ToolCallStart(start) => Some(start),
        _ => None,
    });
    let mut told_now = Vec::new();
    for start in begun {
        let (call, name) = (&start.tool_call_id, &start.tool_call_name);
        // It is stored, and the owner before could not tell it any more. What is not stored yet the turn tells itself.
        let status = statuses.of(call).filter(|status| status.is_final());
        let result = result_of(conversation, call).cloned();
        let result = result.or_else(|| live_result(conversation, call, rounds));
        if let (Some(status), Some(result), false) = (status, result, rounds.knows(call)) {
            let label = labels.of(call, name, tools);
            writer.append(tool_status(call, name, &label, status)).await;
            rounds.is_known(call);
            told_now.push(call);
            for change in state.map(SharedState::untold).into_iter().flatten() {
                writer.append(change).await;
            }
            writer.append(told(&result)).await;
        }
    }
    rounds.stand(conversation.calls());
    // A call that the log does not have comes with the snapshot, and so does what came of it.
    for call in conversation.calls() {
        let is_stored = statuses
            .of(&call.id)
            .is_some_and(|status| status.is_final());
        if is_stored && live_result(conversation, &call.id, rounds).is_some() {
            rounds.is_known(&call.id);
        }
    }
    // An answer that was cut has its mark here, and its calls have results: whoever watches begins anew from here.
    let mut messages = conversation.messages().to_vec();
    messages.extend(told_results(conversation, rounds));
    messages.extend(brought_results(brought, conversation, rounds));
    note_results(&messages, rounds);
    let snapshot = MessagesSnapshot {
        messages,
        ..MessagesSnapshot::default()
    };
    let snapshot = snapshot.into();
    labels.note(&snapshot);
    writer.append(snapshot).await;
    let told = told_statuses(&written.events);
    for (call, name, status) in &statuses.calls {
        let is_told = told.get(call.as_str()).copied() == Some(status_name(*status));
        // Who brings the result waits to be told that it is awaited.
        let matters = status.is_final() || *status == ToolCallStatus::Deferred;
        if matters && !is_told && !told_now.contains(&call) {
            let label = labels.of(call, name, tools);
            writer
                .append(tool_status(call, name, &label, *status))
                .await;
        }
    }
    for id in open.keys().filter(|id| is_void(id)) {
        let value = json!({ "interruptId": id, "status": ResumeStatus::Cancelled });
        writer.append(custom("interrupt_answered", value)).await;
    }
    open.retain(|id, _| !is_void(id));
    for asked in asks.iter().filter(|asked| !open.contains_key(&asked.id)) {
        writer.append(custom("interrupt", json!(asked))).await;
    }
    (open, BTreeSet::new())
}

/// The calls of the client's tools that earlier runs left to the client: what comes of them it knows. All runs are earlier
/// than one that begins. `own` are the server's own tools.
fn calls_left(events: &[Event], begins: bool, own: &ToolRegistry) -> Vec<ToolCallId> {
    let begin = events
        .iter()
        .rposition(|event| matches!(event, Event::RunStarted(_)));
    let end = if begins {
        events.len()
    } else {
        begin.unwrap_or(0)
    };
    let left = events[..end].iter().filter_map(|event| match event {
        Event::ToolCallStart(start) if own.get(&start.tool_call_name).is_none() => {
            Some(start.tool_call_id.clone())
        }
        _ => None,
    });
    left.collect()
}

/// The calls that a run left to its client.
pub(crate) fn pending_calls(finished: &RunFinished) -> &[ToolCallId] {
    match &finished.outcome {
        Some(RunOutcome::Success {
            pending_tool_call_ids: Some(calls),
        }) => calls,
        _ => &[],
    }
}

/// A snapshot tells the results that are in it.
fn note_results(messages: &[Message], rounds: &mut Rounds) {
    for message in messages {
        if let Message::Tool(result) = message {
            rounds.is_known(&result.tool_call_id);
        }
    }
}

/// The ids of a turn's questions: the same after a restart.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuestionIds {
    /// What tells the turn from others, whose calls may have the same ids.
    tag: String,
}

impl QuestionIds {
    /// Those of a turn. Answers to one that is told in runs do not name the turn: its questions do.
    pub(crate) fn new(key: &TurnKey, is_told_in_runs: bool) -> Self {
        if !is_told_in_runs {
            return Self::default();
        }
        let ThreadKey {
            server,
            room,
            thread,
        } = &key.thread;
        // FNV-1a, 64 bits: of another release and on another machine it is the same.
        let parts = [&**server, &**room, thread.as_str(), key.turn.as_str()];
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self {
            tag: format!("{hash:016x}-"),
        }
    }

    /// The question whether a call may run.
    pub(crate) fn of_call(&self, call: &ToolCallId) -> String {
        format!("interrupt-{}{call}", self.tag)
    }

    /// The question of this number that a running call asks.
    pub(crate) fn of_tool(&self, call: &ToolCallId, number: u32) -> String {
        format!("question-{number}-{}{call}", self.tag)
    }
}

/// The results of the round under way that were told. They have their place in the history once the round is over.
fn told_results(conversation: &Conversation, rounds: &Rounds) -> Vec<Message> {
    let calls = conversation.calls().iter();
    let told = calls.filter(|call| rounds.knows(&call.id));
    let told = told.filter(|call| result_of(conversation, &call.id).is_none());
    let results = told.filter_map(|call| live_result(conversation, &call.id, rounds));
    results.map(Message::Tool).collect()
}

/// The results that the client has brought, and that are yet to be stored: the client has them, and a snapshot without them
/// would take them away.
fn brought_results(
    brought: &[(ToolCallId, ToolResult)],
    conversation: &Conversation,
    rounds: &Rounds,
) -> Vec<Message> {
    let results = brought.iter().filter_map(|(id, result)| {
        let call = conversation.call_by_id(id)?;
        let is_awaited = call.status == ToolCallStatus::Deferred;
        is_awaited.then(|| Message::Tool(result_message(call, result, rounds)))
    });
    results.collect()
}

/// What came of a call of the round under way.
fn live_result(
    conversation: &Conversation,
    call: &ToolCallId,
    rounds: &Rounds,
) -> Option<ToolMessage> {
    let call = conversation.call_by_id(call)?;
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

/// Whether questions of all these ids were told.
pub(crate) fn were_asked<'a>(events: &[Event], mut ids: impl Iterator<Item = &'a String>) -> bool {
    let asked = |id: &String| {
        events.iter().any(|event| match event {
            Event::Custom(custom) => {
                custom.name == "interrupt" && custom.value["id"].as_str() == Some(id)
            }
            _ => false,
        })
    };
    ids.all(asked)
}

/// The questions that were told and not answered.
pub(crate) fn open_questions(events: &[Event]) -> BTreeMap<String, Interrupt> {
    let mut open = BTreeMap::new();
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
pub(crate) fn status_event(update: &ToolCallUpdate, label: &str) -> Event {
    tool_status(&update.tool_call_id, &update.name, label, update.status)
}

/// How the calls of a turn stand in the store.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    /// Each with its tool.
    calls: Vec<(ToolCallId, String, ToolCallStatus)>,
    /// The questions of running tools that have answers, by their numbers.
    answered: HashSet<(CallKey, u32)>,
}

impl Statuses {
    /// Those of the last turn of the path.
    pub(crate) fn of_last(path: &[Turn]) -> Result<Self, StoreError> {
        let view = SessionView::of(path, &ViewOptions::default());
        let view = view.map_err(|error| StoreError::Damaged {
            message: error.to_string(),
        })?;
        let turn = path.last().map(|turn| &turn.id);
        let own = view.messages.into_iter();
        let own = own.filter(|message| message.turn.as_ref() == turn);
        let calls = own.flat_map(|message| message.tool_executions);
        let calls = calls.map(|call| (call.tool_id, call.tool_name, call.status));
        let blocks = path.last().into_iter().flat_map(|turn| &turn.blocks);
        let answered = blocks.filter_map(|block| match &block.block.content {
            BlockContent::Answer { call, number, .. } => Some((*call, *number)),
            _ => None,
        });
        Ok(Self {
            calls: calls.collect(),
            answered: answered.collect(),
        })
    }

    /// Whether the question of this id is one that the call asks, and nobody has answered.
    fn may_ask(&self, call: &LiveCall, ids: &QuestionIds, id: &str) -> bool {
        let question = id.strip_prefix("question-");
        let question = question.and_then(|question| question.split_once('-'));
        let Some((number, _)) = question else {
            return false;
        };
        let number = number.parse().ok();
        let number = number.filter(|number| ids.of_tool(&call.id, *number) == id);
        number.is_some_and(|number| !self.answered.contains(&(call.key, number)))
    }

    /// Whether the call has come to its end.
    pub(crate) fn is_over(&self, call: &ToolCallId) -> bool {
        self.of(call).is_some_and(|status| status.is_final())
    }

    fn of(&self, call: &ToolCallId) -> Option<ToolCallStatus> {
        let mut all = self.calls.iter();
        all.find_map(|(known, _, status)| (known == call).then_some(*status))
    }
}

/// The last that was told of each call.
fn told_statuses(events: &[Event]) -> HashMap<&str, &str> {
    let custom = events.iter().filter_map(|event| match event {
        Event::Custom(custom) if custom.name == "tool_status" => Some(&custom.value),
        _ => None,
    });
    let told =
        custom.filter_map(|value| Some((value["toolCallId"].as_str()?, value["status"].as_str()?)));
    told.collect()
}

fn tool_status(call: &ToolCallId, name: &str, label: &str, status: ToolCallStatus) -> Event {
    let value = json!({
        "toolCallId": call,
        "toolName": name,
        "label": label,
        "status": status_name(status),
    });
    custom(TOOL_STATUS, value)
}

fn status_name(status: ToolCallStatus) -> &'static str {
    match status {
        ToolCallStatus::Streaming => "streaming",
        ToolCallStatus::AwaitingApproval => "awaiting_approval",
        ToolCallStatus::Executing => "executing",
        ToolCallStatus::Deferred => "deferred",
        ToolCallStatus::Completed => "completed",
        ToolCallStatus::Failed => "failed",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
        _ => "pending",
    }
}

/// The status of this name, if it is one that a call comes to.
pub(crate) fn status_named(name: &str) -> Option<ToolCallStatus> {
    use ToolCallStatus::{Cancelled, Completed, Denied, Failed};
    let mut ends = [Completed, Failed, Denied, Cancelled].into_iter();
    ends.find(|status| status_name(*status) == name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_a_running_call_may_ask_again_is_its_own_and_has_no_answer() {
        let id = ToolCallId::from("a-1");
        let key = CallKey { hop: 0, index: 2 };
        let call = LiveCall {
            key,
            id: id.clone(),
            name: "work".to_owned(),
            status: ToolCallStatus::Executing,
            result: None,
            edited: None,
            changed: None,
            restarts: 0,
        };
        let statuses = Statuses {
            calls: Vec::new(),
            answered: HashSet::from([(key, 0)]),
        };
        let key = TurnKey::new("t", "r");
        let tagged = QuestionIds::new(&key, true);
        let ids = QuestionIds::new(&key, false);
        assert!(statuses.may_ask(&call, &ids, &ids.of_tool(&id, 1)));
        assert!(statuses.may_ask(&call, &tagged, &tagged.of_tool(&id, 1)));
        for other in [
            ids.of_tool(&id, 0),
            ids.of_tool(&"a".into(), 1),
            ids.of_call(&id),
            tagged.of_tool(&id, 1),
        ] {
            assert!(!statuses.may_ask(&call, &ids, &other), "{other}");
        }
    }
}
