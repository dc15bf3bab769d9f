//! What a chat screen shows while a turn runs, event by event.

use serde_json::{Value, json};
use stepwell_core::event::{Event, Interrupt, Message};
use stepwell_core::run::{
    ErrorKind, Outcome, PendingKind, RunEvent, ToolCallUpdate, ToolPartialResult, ToolProgress,
    TurnStatus,
};
use stepwell_core::session::{
    ChatConnection, ChatPart, ChatProblem, ChatReducer, ChatRole, ChatStatus, ToolCard,
    ToolCardProgress, ViewOptions,
};
use stepwell_core::tool::{Tool, ToolRegistry, ToolResult};
use stepwell_core::transcript::{Compaction, ToolCallStatus};
use stepwell_core::{CallKey, Timestamp};

const CALL: CallKey = CallKey { hop: 0, index: 0 };

/// A chat with a turn under way.
fn begun() -> ChatReducer {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = Tool::new("weather", "Tells the weather.").parameters(schema);
    let tools = ToolRegistry::new().register(tool).expect("a good tool");
    let options = ViewOptions {
        tools,
        ..ViewOptions::default()
    };
    let mut chat = ChatReducer::new(options);
    let message = Message::user("user-1", "Hello");
    chat.begin("run-1".into(), None, Some(message), Timestamp(1_000));
    chat
}

fn apply(chat: &mut ChatReducer, event: Value) {
    let event: Event = serde_json::from_value(event).expect("an event");
    chat.apply(&RunEvent::AgUi(event), Timestamp(2_000));
}

fn text(chat: &mut ChatReducer, id: &str, text: &str) {
    apply(
        chat,
        json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}),
    );
    delta(chat, id, text);
    apply(chat, json!({"type": "TEXT_MESSAGE_END", "messageId": id}));
}

fn delta(chat: &mut ChatReducer, id: &str, delta: &str) {
    let event = json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta});
    apply(chat, event);
}

fn asks(chat: &mut ChatReducer, call: &str) {
    let start = json!({"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "weather"});
    apply(chat, start);
}

fn arguments(chat: &mut ChatReducer, call: &str, delta: &str) {
    let event = json!({"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": delta});
    apply(chat, event);
}

fn complete_call(chat: &mut ChatReducer) {
    asks(chat, "call-1");
    arguments(chat, "call-1", r#"{"city":"Oslo"}"#);
    apply(
        chat,
        json!({"type": "TOOL_CALL_END", "toolCallId": "call-1"}),
    );
}

fn update(chat: &mut ChatReducer, status: ToolCallStatus, result: Option<ToolResult>) {
    let update = ToolCallUpdate {
        call: CALL,
        tool_call_id: "call-1".into(),
        name: "weather".to_owned(),
        status,
        result,
    };
    chat.apply(&RunEvent::ToolCallUpdate(update), Timestamp(3_000));
}

fn card(chat: &mut ChatReducer) -> ToolCard {
    let parts = chat
        .state()
        .messages
        .iter()
        .flat_map(|message| &message.parts);
    let card = parts.into_iter().find_map(|part| match part {
        ChatPart::Tool { card } => Some(card.clone()),
        _ => None,
    });
    card.expect("there is a call")
}

#[test]
fn shows_a_compaction_until_it_is_taken_away() {
    let mut chat = ChatReducer::new(ViewOptions::default());
    let now = Timestamp(1_000);
    chat.begin("run-1".into(), None, Some(Message::user("u", "Hello")), now);
    assert_eq!(chat.state().compaction, None);
    let trimmed = |compaction| RunEvent::ContextTrimmed {
        left_out: Vec::new(),
        tokens: 9,
        compaction,
    };
    let compaction = Compaction {
        through: Some("u".into()),
        summary: Some("A greeting.".to_owned()),
        ..Compaction::default()
    };
    chat.apply(&trimmed(compaction), now);
    let update = chat.take_update().expect("it has changed");
    let shown = update.compaction.expect("it is shown");
    assert_eq!(shown.summary.as_deref(), Some("A greeting."));
    assert_eq!(shown.through.as_deref(), Some("u"));
    chat.apply(&trimmed(Compaction::default()), now);
    let update = chat.take_update().expect("it has changed");
    assert_eq!(update.compaction, None);
}

#[test]
fn the_status_follows_the_turn() {
    let mut chat = begun();
    assert_eq!(chat.state().status, ChatStatus::Submitted);
    assert_eq!(chat.state().connection, ChatConnection::Connecting);
    assert!(chat.state().status.is_busy());
    text(&mut chat, "m-1", "Hi!");
    assert_eq!(chat.state().status, ChatStatus::Streaming);
    assert_eq!(chat.state().connection, ChatConnection::Streaming);
    let last = chat.state().messages[1].clone();
    assert!(last.is_streaming && last.role == ChatRole::Assistant);
    chat.apply(&RunEvent::Completed(Outcome::Success), Timestamp(2_000));
    let state = chat.state();
    assert_eq!(state.status, ChatStatus::Ready);
    assert_eq!(state.connection, ChatConnection::Idle);
    assert!(!state.messages[1].is_streaming);
}

#[test]
fn the_connection_says_why_and_until_when_it_waits() {
    let mut chat = begun();
    let retrying = RunEvent::Retrying {
        kind: ErrorKind::Overloaded,
        attempt: 2,
        delay_ms: 500,
        reason: "overloaded".to_owned(),
    };
    chat.apply(&retrying, Timestamp(2_000));
    let waiting = ChatConnection::WaitingToRetry {
        attempt: 2,
        at: Timestamp(2_500),
        reason: "overloaded".to_owned(),
    };
    assert_eq!(chat.state().connection, waiting);
    chat.apply(
        &RunEvent::WaitingForNetwork { up_to_ms: 60_000 },
        Timestamp(3_000),
    );
    let until = Timestamp(63_000);
    assert_eq!(chat.state().connection, ChatConnection::Offline { until });
    let resumed = RunEvent::StreamResumed { hop: 0, attempt: 1 };
    chat.apply(&resumed, Timestamp(4_000));
    assert_eq!(chat.state().connection, ChatConnection::Resuming);
    text(&mut chat, "m-1", "Hi!");
    assert_eq!(chat.state().connection, ChatConnection::Streaming);
}

#[test]
fn a_failed_turn_has_a_problem_and_a_stopped_one_has_none() {
    let mut chat = begun();
    chat.apply(&RunEvent::Completed(Outcome::Truncated), Timestamp(2_000));
    let problem = chat.state().problem.clone().expect("it failed");
    assert_eq!(problem.kind, ErrorKind::Connection);
    assert!(problem.is_retryable && !problem.advice.is_empty());
    assert_eq!(chat.state().status, ChatStatus::Error);
    chat.begin("run-2".into(), None, None, Timestamp(5_000));
    assert_eq!(chat.state().problem, None);
    chat.apply(&RunEvent::Completed(Outcome::Cancelled), Timestamp(6_000));
    assert_eq!(chat.state().problem, None);
    assert_eq!(chat.state().status, ChatStatus::Ready);
}

#[test]
fn an_unanswered_message_that_is_sent_again_is_shown_once() {
    let mut chat = begun();
    chat.apply(&RunEvent::Completed(Outcome::Truncated), Timestamp(2_000));
    assert_eq!(chat.take_update().expect("all is new").messages.len(), 1);
    let again = Message::user("user-2", "Hello");
    chat.begin("run-2".into(), None, Some(again), Timestamp(3_000));
    let update = chat.take_update().expect("a turn");
    assert_eq!(update.order, Some(vec!["user-2".into()]));
    assert_eq!(chat.state().messages.len(), 1);
}

#[test]
fn a_host_ends_a_turn_that_has_no_outcome() {
    let mut chat = begun();
    let problem = ChatProblem {
        kind: ErrorKind::Store,
        message: "no\ndisk ".repeat(1_000),
        advice: "check the store".to_owned(),
        is_retryable: false,
        status: None,
    };
    chat.end(TurnStatus::Failed, Some(problem));
    let problem = chat.state().problem.clone().expect("it failed");
    assert!(problem.message.starts_with("no disk no disk"));
    assert!(problem.message.chars().count() <= 1_000);
}

#[test]
fn arguments_are_shown_while_they_stream() {
    let mut chat = begun();
    asks(&mut chat, "call-1");
    assert_eq!(card(&mut chat).arguments, json!({}));
    assert_eq!(card(&mut chat).status, ToolCallStatus::Streaming);
    arguments(&mut chat, "call-1", r#"{"city":"Os"#);
    assert_eq!(card(&mut chat).arguments, json!({"city": "Os"}));
    arguments(&mut chat, "call-1", r#"lo"}"#);
    apply(
        &mut chat,
        json!({"type": "TOOL_CALL_END", "toolCallId": "call-1"}),
    );
    assert_eq!(card(&mut chat).arguments, json!({"city": "Oslo"}));
    assert_eq!(card(&mut chat).status, ToolCallStatus::Pending);
}

#[test]
fn a_card_shows_progress_until_the_result() {
    let mut chat = begun();
    complete_call(&mut chat);
    update(&mut chat, ToolCallStatus::Executing, None);
    assert_eq!(chat.state().connection, ChatConnection::Idle);
    let progress = ToolProgress {
        call: CALL,
        tool_call_id: "call-1".into(),
        name: "weather".to_owned(),
        fraction: Some(0.5),
        message: Some("half\nway ".repeat(100)),
    };
    chat.apply(&RunEvent::ToolProgress(progress), Timestamp(2_500));
    let partial = ToolPartialResult {
        call: CALL,
        tool_call_id: "call-1".into(),
        name: "weather".to_owned(),
        output: "Sun".into(),
    };
    chat.apply(&RunEvent::ToolPartialResult(partial), Timestamp(2_600));
    let shown = card(&mut chat);
    let ToolCardProgress { fraction, message } = shown.progress.expect("it reported");
    assert_eq!(fraction, Some(0.5));
    assert!(message.expect("a message").chars().count() <= 200);
    assert_eq!(shown.partial_result, Some("Sun".into()));
    update(
        &mut chat,
        ToolCallStatus::Completed,
        Some(Ok("Sunny".into())),
    );
    let shown = card(&mut chat);
    assert_eq!(shown.result, Some("Sunny".into()));
    assert_eq!(
        (shown.progress, shown.partial_result, shown.failure),
        (None, None, None)
    );
}

/// Something of the call that waits.
fn waits(kind: &str) -> RunEvent {
    let pending = json!([{
        "id": "call-1",
        "kind": kind,
        "toolCallId": "call-1",
        "tool": "weather",
        "arguments": { "city": "Oslo" },
    }]);
    RunEvent::Pending {
        pending: serde_json::from_value(pending).expect("it is what waits"),
    }
}

#[test]
fn what_waits_for_the_user_is_shown_until_nothing_waits() {
    for kind in ["approval", "question"] {
        let mut chat = begun();
        complete_call(&mut chat);
        update(&mut chat, ToolCallStatus::AwaitingApproval, None);
        chat.apply(&waits(kind), Timestamp(2_000));
        let state = chat.state();
        assert_eq!(state.status, ChatStatus::WaitingForUser);
        assert_eq!(state.pending[0].arguments, json!({"city": "Oslo"}));
        let nothing = RunEvent::Pending { pending: vec![] };
        chat.apply(&nothing, Timestamp(2_000));
        assert_eq!(chat.state().pending, []);
        assert_eq!(chat.state().status, ChatStatus::Streaming);
    }
}

#[test]
fn a_deferred_call_waits_without_the_user() {
    let mut chat = begun();
    complete_call(&mut chat);
    update(&mut chat, ToolCallStatus::Deferred, None);
    chat.apply(&waits("result"), Timestamp(2_000));
    let state = chat.state();
    assert_eq!(state.pending[0].kind, PendingKind::Result);
    assert_eq!(state.status, ChatStatus::Streaming);
}

#[test]
fn the_interrupts_of_an_agent_wait_until_it_continues() {
    let mut chat = begun();
    let interrupts = (0..100).map(|number| Interrupt {
        id: format!("i-{number}"),
        reason: "input_required".to_owned(),
        message: Some("Which one?".to_owned()),
        ..Interrupt::default()
    });
    let interrupts = interrupts.collect();
    chat.apply(&RunEvent::Interrupted { interrupts }, Timestamp(2_000));
    let state = chat.state();
    assert_eq!(state.status, ChatStatus::WaitingForUser);
    assert_eq!(state.interrupts.len(), 64);
    let next = RunEvent::HopStarted {
        hop: 1,
        run_id: "run-2".into(),
    };
    chat.apply(&next, Timestamp(3_000));
    assert_eq!(chat.state().interrupts, []);
}

#[test]
fn a_delta_changes_one_message_alone() {
    let mut chat = begun();
    text(&mut chat, "m-1", "Hi");
    chat.apply(&RunEvent::Completed(Outcome::Success), Timestamp(2_000));
    let message = Message::user("user-2", "And?");
    chat.begin("run-2".into(), None, Some(message), Timestamp(3_000));
    text(&mut chat, "m-2", "So");
    let first = chat.take_update().expect("all is new");
    assert_eq!(first.messages.len(), 4);
    assert_eq!(chat.take_update(), None);
    delta(&mut chat, "m-2", " it goes");
    let update = chat.take_update().expect("a delta");
    assert_eq!(update.order, None);
    let ids: Vec<_> = update.messages.iter().map(|message| &*message.id).collect();
    assert_eq!(ids, ["m-2"]);
    assert_eq!(update.messages[0].revision, update.revision);
    let revisions: Vec<_> = chat
        .state()
        .messages
        .iter()
        .map(|message| message.revision)
        .collect();
    assert_eq!(revisions[..3], [first.revision; 3]);
}

#[test]
fn a_long_chat_shows_its_last_messages() {
    let history = (0..1_005).map(|number| Message::user(format!("m-{number}"), "Hello"));
    let mut chat = ChatReducer::from_messages(history.collect(), ViewOptions::default());
    let first = chat.take_update().expect("all is new");
    assert_eq!(first.messages.len(), 1_000);
    assert_eq!(first.omitted_messages, 5);
    assert_eq!(&*first.messages[0].id, "m-5");
    let message = Message::user("user", "And?");
    chat.begin("run-1".into(), None, Some(message), Timestamp(1));
    let update = chat.take_update().expect("a message");
    assert_eq!(update.omitted_messages, 6);
    let order = update.order.expect("one is left out");
    assert_eq!((order.len(), &*order[0]), (1_000, "m-6"));
}

#[test]
fn a_long_answer_is_several_messages() {
    let mut chat = begun();
    for number in 0..100 {
        text(&mut chat, &format!("m-{number}"), "Hi!");
    }
    let lengths: Vec<_> = chat
        .state()
        .messages
        .iter()
        .map(|message| message.parts.len())
        .collect();
    assert_eq!(lengths, [1, 64, 36]);
}

#[test]
fn a_message_of_the_user_during_the_turn_splits_the_answer() {
    let mut chat = begun();
    text(&mut chat, "m-1", "One");
    chat.steer(Message::user("user-2", "Faster"));
    assert_eq!(chat.state().messages.len(), 2);
    let taken = RunEvent::SteeringTaken {
        message_id: "user-2".into(),
        hop: 1,
    };
    chat.apply(&taken, Timestamp(2_000));
    text(&mut chat, "m-2", "Two");
    let roles: Vec<_> = chat
        .state()
        .messages
        .iter()
        .map(|message| message.role)
        .collect();
    let (user, assistant) = (ChatRole::User, ChatRole::Assistant);
    assert_eq!(roles, [user, assistant, user, assistant]);
    let streaming: Vec<_> = chat
        .state()
        .messages
        .iter()
        .map(|message| message.is_streaming)
        .collect();
    assert_eq!(streaming, [false, false, false, true]);
}

#[test]
fn the_state_has_its_form_in_json() {
    let mut chat = begun();
    text(&mut chat, "m-1", "Let me look.");
    complete_call(&mut chat);
    update(&mut chat, ToolCallStatus::AwaitingApproval, None);
    chat.apply(&waits("approval"), Timestamp(2_000));
    let state = json!(chat.state());
    assert_eq!(state["status"], "waitingForUser");
    assert_eq!(state["connection"], json!({"state": "idle"}));
    assert_eq!(state["omittedMessages"], 0);
    let message = &state["messages"][1];
    assert_eq!(message["streaming"], true);
    assert_eq!(message["cut"], false);
    assert_eq!(
        message["parts"],
        json!([
            {"type": "text", "text": "Let me look."},
            {"type": "tool", "card": {
                "toolCallId": "call-1", "name": "weather", "label": "weather",
                "status": "awaitingApproval", "arguments": {"city": "Oslo"},
            }},
        ])
    );
    assert_eq!(state["pending"][0]["toolCallId"], "call-1");
    assert_eq!(state["pending"][0]["kind"], "approval");
}
