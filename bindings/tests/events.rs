//! The JSON form of events.

use serde_json::{Value, json};
use stepwell_core::event::Event as AgUi;
use stepwell_core::run::RunEvent;
use stepwell_ffi::{Event, event_to_json};

/// Returns an event of each kind, with all optional fields.
fn events() -> Vec<Value> {
    let common = json!({ "timestamp": 7, "rawEvent": { "a": 1 }, "metadata": { "b": 2 } });
    let events = json!([
        { "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user", "name": "Ada" },
        { "type": "TEXT_MESSAGE_END", "messageId": "m" },
        { "type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look", "parentMessageId": "m" },
        { "type": "TOOL_CALL_END", "toolCallId": "c" },
        { "type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "done" },
        { "type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c",
          "content": [{ "type": "text", "text": "done" }] },
        { "type": "STEP_STARTED", "stepName": "s" },
        { "type": "STEP_FINISHED", "stepName": "s" },
        { "type": "STATE_SNAPSHOT", "snapshot": { "a": [1, null] } },
        { "type": "STATE_DELTA", "delta": [{ "op": "add", "path": "/a", "value": 1 }] },
        { "type": "MESSAGES_SNAPSHOT", "messages": [{ "id": "m", "role": "user", "content": "hi" }] },
        { "type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "plan", "content": { "a": 1 }, "replace": false },
        { "type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "plan",
          "patch": [{ "op": "remove", "path": "/a" }] },
        { "type": "REASONING_START", "messageId": "m" },
        { "type": "REASONING_END", "messageId": "m" },
        { "type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning" },
        { "type": "REASONING_MESSAGE_END", "messageId": "m" },
        { "type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "c", "encryptedValue": "x" },
        { "type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n", "description": "d", "parentToolCallId": "c" },
        { "type": "SUBAGENT_FINISHED", "subagentRunId": "s", "result": 1 },
        { "type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "no", "code": "c" },
        { "type": "RAW", "event": { "x": 1 }, "source": "s" },
        { "type": "CUSTOM", "name": "n", "value": [1] },
    ]);
    let Value::Array(plain) = events else {
        unreachable!("it is a list")
    };
    let carrying = plain.iter().map(|event| {
        let mut event = event.clone();
        for (name, value) in common.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        event
    });
    let deltas = [
        json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "ä" }),
        json!({ "type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{" }),
        json!({ "type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "hm" }),
        json!({ "type": "OF_TOMORROW", "x": 1 }),
    ];
    let carrying: Vec<_> = carrying.collect();
    plain.into_iter().chain(carrying).chain(deltas).collect()
}

#[test]
fn an_ag_ui_event_is_the_json_that_it_came_as() {
    for event in events() {
        let read: AgUi = serde_json::from_value(event.clone()).expect("an event");
        let written = event_to_json(RunEvent::AgUi(read).into());
        let written: Value = serde_json::from_str(written.as_str()).expect("JSON");
        assert_eq!(written, event);
    }
}

#[test]
fn an_event_of_the_turn_itself_is_json_too() {
    let started = Event::Started {
        thread_id: "t".to_owned(),
        run_id: "r".to_owned(),
    };
    let json = event_to_json(started);
    assert_eq!(
        json.as_str(),
        r#"{"type":"started","threadId":"t","runId":"r"}"#
    );
}
