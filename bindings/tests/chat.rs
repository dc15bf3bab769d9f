//! The contents of a chat screen, from typed events.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use stepwell_core::event::{Event as AgUi, Interrupt, Message};
use stepwell_core::run::{ErrorKind, Outcome, RunEvent, ToolCallUpdate, ToolProgress};
use stepwell_core::session::{self, ViewOptions};
use stepwell_core::tool::ToolFailure;
use stepwell_core::transcript::ToolCallStatus;
use stepwell_core::{CallKey, Timestamp};
use stepwell_ffi::{ChatPart, ChatReducer, ChatRole, ChatStatus, Event, JsonValue, PendingKind};

const CALL: CallKey = CallKey { hop: 0, index: 0 };
const NOW: Timestamp = Timestamp(1_000);

fn ag_ui(event: Value) -> RunEvent {
    RunEvent::AgUi(serde_json::from_value::<AgUi>(event).unwrap())
}

fn update(status: ToolCallStatus) -> RunEvent {
    RunEvent::ToolCallUpdate(ToolCallUpdate {
        call: CALL,
        tool_call_id: "c".into(),
        name: "pay".to_owned(),
        status,
        result: (status == ToolCallStatus::Failed).then(|| Err(ToolFailure::error("no money"))),
    })
}

/// The approval that the call waits for.
fn waits() -> RunEvent {
    let pending = json!([{
        "id": "c", "kind": "approval", "toolCallId": "c", "tool": "pay", "arguments": { "sum": 1 }, "schema": {},
        "deadline": 7,
    }]);
    RunEvent::Pending {
        pending: serde_json::from_value(pending).unwrap(),
    }
}

/// A turn with everything that a screen shows of it.
fn events() -> Vec<RunEvent> {
    vec![
        RunEvent::Retrying {
            kind: ErrorKind::Overloaded,
            attempt: 1,
            delay_ms: 500,
            reason: "overloaded".to_owned(),
        },
        RunEvent::WaitingForNetwork { up_to_ms: 500 },
        ag_ui(json!({ "type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning" })),
        ag_ui(json!({ "type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "Hm" })),
        ag_ui(json!({ "type": "REASONING_MESSAGE_END", "messageId": "r" })),
        ag_ui(json!({ "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant" })),
        ag_ui(json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Well" })),
        ag_ui(json!({ "type": "TEXT_MESSAGE_END", "messageId": "m" })),
        ag_ui(json!({
            "type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "pay", "parentMessageId": "m",
        })),
        ag_ui(json!({ "type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{\"sum\":" })),
        ag_ui(json!({ "type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "1}" })),
        ag_ui(json!({ "type": "TOOL_CALL_END", "toolCallId": "c" })),
        update(ToolCallStatus::AwaitingApproval),
        waits(),
        update(ToolCallStatus::Executing),
        RunEvent::ToolProgress(ToolProgress {
            call: CALL,
            tool_call_id: "c".into(),
            name: "pay".to_owned(),
            fraction: Some(0.5),
            message: None,
        }),
        update(ToolCallStatus::Failed),
        RunEvent::HopStarted {
            hop: 1,
            run_id: "run-2".into(),
        },
        ag_ui(json!({
            "type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": { "steps": 1 },
        })),
        RunEvent::Interrupted {
            interrupts: vec![Interrupt {
                id: "i".to_owned(),
                reason: "input_required".to_owned(),
                ..Interrupt::default()
            }],
        },
        RunEvent::StreamResumed { hop: 1, attempt: 1 },
        RunEvent::Warning {
            message: "odd".to_owned(),
        },
        RunEvent::Completed(Outcome::Truncated),
    ]
}

/// The screen from typed events, and that of the core.
fn begun() -> (std::sync::Arc<ChatReducer>, session::ChatReducer) {
    let hello = Message::user("u", "Hello");
    let typed = ChatReducer::new(Vec::new(), None).unwrap();
    let json = JsonValue::of(&hello);
    typed
        .begin("run-1".to_owned(), Some(json), NOW.into())
        .unwrap();
    let mut core = session::ChatReducer::new(ViewOptions::default());
    core.begin("run-1".into(), None, Some(hello), NOW);
    (typed, core)
}

#[test]
fn typed_events_give_the_state_of_the_core() {
    let (typed, mut core) = begun();
    for event in events() {
        let name = format!("{event:?}");
        core.apply(&event, NOW);
        typed.apply(vec![Event::from(event)], NOW.into()).unwrap();
        assert_eq!(typed.digest(), core.state().digest().to_string(), "{name}");
        let state: stepwell_ffi::ChatState = core.state().clone().into();
        assert_eq!(typed.state(), state, "{name}");
    }
}

#[test]
fn a_screen_has_typed_parts() {
    let (typed, _) = begun();
    let mut events = events();
    let later = events.split_off(14);
    for event in events {
        typed.apply(vec![event.into()], NOW.into()).unwrap();
    }
    let state = typed.state();
    assert_eq!(state.status, ChatStatus::WaitingForUser);
    assert_eq!(state.pending[0].kind, PendingKind::Approval);
    assert_eq!(state.pending[0].id, "c");
    let [user, assistant] = &state.messages[..] else {
        panic!("{state:?}");
    };
    assert_eq!(
        (user.role, assistant.role),
        (ChatRole::User, ChatRole::Assistant)
    );
    let [
        ChatPart::Reasoning { .. },
        ChatPart::Text { text },
        ChatPart::Tool { card },
    ] = &assistant.parts[..]
    else {
        panic!("{assistant:?}");
    };
    assert_eq!((text.as_str(), card.name.as_str()), ("Well", "pay"));
    assert!(typed.take_update().is_some());
    let events = later.into_iter().map(Event::from).collect();
    typed.apply(events, NOW.into()).unwrap();
    let update = typed.take_update().unwrap();
    assert_eq!(update.status, ChatStatus::Error);
    assert_eq!(update.messages.len(), 1);
    assert!(typed.take_update().is_none());
}

#[test]
fn what_events_do_not_report_is_noted() {
    let (typed, _) = begun();
    let usage = stepwell_ffi::TokenUsage {
        input_tokens: Some(7),
        cost: Some(0.5),
        ..stepwell_ffi::TokenUsage::default()
    };
    typed.set_usage(usage.clone());
    assert_eq!(typed.state().usage, usage);
    typed.end(
        stepwell_ffi::TurnStatus::Failed,
        Some(Outcome::Truncated.into()),
    );
    assert_eq!(typed.state().status, ChatStatus::Error);
}

#[test]
fn wrong_json_is_refused_without_its_content() {
    let messages = JsonValue::from_text("[{\"secret\":1}]".to_owned());
    let error = ChatReducer::from_messages(messages)
        .unwrap_err()
        .to_string();
    assert!(!error.contains("secret"), "{error}");
}
