//! What is unknown, and what is malformed.

use crate::support::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{Decode, DecodeError, HopIds};
use stepwell_core::event::{EventError, EventRef};
use stepwell_core::pipeline::{Listener, Pipeline};
use stepwell_core::provider;
use stepwell_core::transcript::{Applied, Transcript};
use stepwell_core::wire::FrameLimits;

#[test]
fn what_is_no_event_is_refused() {
    for text in [
        "", " ", "nonsense", "{", "{}x", "[DONE]", "42", "null", "\"text\"", "[1]", "[[]]",
    ] {
        let (recorder, end) = decode(&[text]);
        let error = end.expect_err(text);
        assert!(matches!(error, DecodeError::Json { .. }), "{text}: {error}");
        assert!(recorder.events.is_empty());
    }
    for text in [
        "{}",
        r#"{"type":null}"#,
        r#"{"type":""}"#,
        r#"{"type":1}"#,
        r#"[{"a":1}]"#,
    ] {
        let (_, end) = decode(&[text]);
        assert_eq!(end, Err(DecodeError::Event(EventError::NoType)), "{text}");
    }
    let mut recorder = Recorder::default();
    for bytes in [
        &b"{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"\xff\"}"[..],
        b"{\"type\":\"RAW\",\"event\":\"\xc3\"}",
    ] {
        assert!(decoder().frame(frame(bytes), &mut recorder).is_err());
    }
    let deep = format!(
        r#"{{"type":"RAW","event":{}{}}}"#,
        "[".repeat(9_999),
        "]".repeat(9_999)
    );
    assert!(decode(&[&deep]).1.is_err());
}

#[test]
fn an_unknown_event_is_dropped() {
    let event = json!({"type": "FUTURE_EVENT", "messageId": null, "deep": {"a": [1]}});
    let (events, warnings) = taken(std::slice::from_ref(&event));
    assert!(events.is_empty(), "{events:?}");
    assert!(warnings[0].contains("FUTURE_EVENT"));
    assert_eq!(
        rule(&[event.clone(), started(), event.clone(), finished(), event]),
        None
    );
}

#[test]
fn an_unknown_field_is_dropped_with_a_warning() {
    for event in [
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "d", "newer": 1}),
        json!({"type": "RUN_ERROR", "message": "m", "newer": {"a": null}}),
        json!({"type": "RUN_ERROR", "message": "m", "subagentRunId": "newer"}),
        json!({"type": "CUSTOM", "name": "n", "value": 1, "toString": "newer"}),
    ] {
        let (known, warning) = one(event.clone());
        for field in ["newer", "subagentRunId", "toString"] {
            assert_eq!(known.get(field), None, "{known}");
        }
        assert!(
            warning.contains("/newer")
                || warning.contains("/subagentRunId")
                || warning.contains("/toString"),
            "{warning}"
        );
    }
    let mut event = finished();
    event["outcome"] = json!({"type": "interrupt", "newer": 0, "interrupts": [
        {"id": "i", "reason": "r", "newer": 1, "metadata": {"open": 1}, "responseSchema": {"open": 1}}]});
    let (events, warnings) = taken(&[event]);
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].contains("/outcome/newer"), "{warnings:?}");
    assert!(
        warnings[1].contains("/outcome/interrupts/0/newer"),
        "{warnings:?}"
    );
    let outcome = &events[0]["outcome"];
    assert_eq!(outcome.get("newer"), None);
    let known =
        json!([{"id": "i", "reason": "r", "metadata": {"open": 1}, "responseSchema": {"open": 1}}]);
    assert_eq!(outcome["interrupts"], known);
}

/// Hears the events of a stream as an app does.
#[derive(Default)]
struct Heard(Vec<Value>);

impl Listener for Heard {
    fn applied(&mut self, event: EventRef<'_>, _: &Applied, _: &Transcript) {
        self.0.push(serde_json::to_value(event.to_event()).unwrap());
    }
    fn moving(&mut self, _: &Transcript) {}
    fn warning(&mut self, _: &str) {}
    fn unknown_call(&mut self, _: &str, _: &str) {}
}

#[test]
fn an_app_may_have_what_is_unknown_kept() {
    let future = json!({"type": "FUTURE_EVENT", "deep": {"a": [1]}});
    let custom = json!({"type": "CUSTOM", "name": "n", "value": 1, "newer": 1});
    let known = json!({"type": "CUSTOM", "name": "n", "value": 1});
    for (keeps_unknown, expected) in [
        (false, vec![known]),
        (true, vec![future.clone(), custom.clone()]),
    ] {
        let agent = provider::find("ag-ui").expect("a known provider");
        let mut endpoint = agent
            .endpoint(None, "", Some("http://localhost/agent"), None)
            .expect("complete");
        endpoint.quirks.ag_ui.keeps_unknown = keeps_unknown;
        let mut pipeline = Pipeline::for_answer(
            &endpoint,
            "text/event-stream",
            HopIds::default(),
            FrameLimits::default(),
        );
        let mut heard = Heard::default();
        for event in [&started(), &future, &custom] {
            let frame = format!("data: {event}\n\n");
            pipeline
                .receive(frame.as_bytes(), &mut Transcript::default(), &mut heard)
                .unwrap();
        }
        assert_eq!(heard.0[1..], expected);
    }
}

#[test]
fn what_is_open_draws_no_warning() {
    let (_, warnings) = taken(&[
        json!({"type": "CUSTOM", "name": "n", "value": {"any": 1}, "metadata": {"any": 1}, "rawEvent": {"any": 1}}),
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "t", "content": {"any": 1}}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/a", "value": 1}]}),
        json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "v",
            "encryptedValueType": "of AG-UI 1.1"}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": {"any": null}}),
    ]);
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn an_unknown_member_of_a_list_is_dropped() {
    let (event, warning) = one(json!({"type": "STATE_DELTA", "delta": [
        {"op": "increment", "path": "/count", "value": 1},
        {"op": "replace", "path": "/count", "value": 5}]}));
    assert_eq!(
        event["delta"],
        json!([{"op": "replace", "path": "/count", "value": 5}])
    );
    assert!(warning.contains("/delta/0"), "{warning}");

    let (event, warning) = one(
        json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "t",
        "patch": [{"path": "/a"}]}),
    );
    assert_eq!(event["patch"], json!([]));
    assert!(warning.contains("/patch/0"), "{warning}");

    let (event, warning) = one(
        json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c",
        "content": [{"type": "hologram"}, {"type": "text", "text": "t"}]}),
    );
    assert_eq!(event["content"], json!([{"type": "text", "text": "t"}]));
    assert!(warning.contains("/content/0"), "{warning}");

    let (event, warning) = one(json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"role": "narrator", "id": "1", "content": "x", "newer": 1},
        {"role": "user", "id": "2", "content": "y"}]}));
    assert_eq!(
        event["messages"],
        json!([{"role": "user", "id": "2", "content": "y"}])
    );
    assert!(warning.contains("/messages/0"), "{warning}");
}

#[test]
fn an_unknown_member_of_an_optional_field_takes_the_field() {
    let mut event = finished();
    event["outcome"] = json!({"type": "paused", "newer": 1});
    let (event, warning) = one(event);
    assert_eq!(event, finished());
    assert!(warning.contains("/outcome"), "{warning}");

    let (event, _) = one(json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {}}));
    assert_eq!(
        event,
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s"})
    );
}

#[test]
fn an_unknown_member_of_a_required_field_takes_its_holder() {
    let (event, warning) = one(json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"role": "user", "id": "m", "content": [
            {"type": "image", "source": {"type": "stream", "newer": 1}},
            {"type": "text", "text": "t"}]}]}));
    assert_eq!(
        event["messages"][0]["content"],
        json!([{"type": "text", "text": "t"}])
    );
    assert!(
        warning.contains("dropped /messages/0/content/0"),
        "{warning}"
    );
}

#[test]
fn malformed_fields_are_refused() {
    let content = |part: Value| json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"role": "user", "id": "m", "content": [part]}]});
    for (event, named) in [
        (
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": 42}),
            "delta",
        ),
        (
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m"}),
            "delta",
        ),
        (
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": ["m"], "delta": ""}),
            "messageId",
        ),
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "wizard"}),
            "role",
        ),
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "timestamp": 1.5}),
            "timestamp",
        ),
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "metadata": []}),
            "metadata",
        ),
        (
            json!({"type": "REASONING_MESSAGE_START", "messageId": "m"}),
            "role",
        ),
        (
            json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "", "role": "user"}),
            "role",
        ),
        (
            json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a"}]}),
            "delta",
        ),
        (
            json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "a"}]}),
            "delta",
        ),
        (json!({"type": "STATE_DELTA", "delta": ["remove"]}), "delta"),
        (
            json!({"type": "STATE_DELTA", "delta": {"op": "remove"}}),
            "delta",
        ),
        (json!({"type": "STATE_SNAPSHOT"}), "snapshot"),
        (json!({"type": "CUSTOM", "name": "n"}), "value"),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": []}),
            "outcome",
        ),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r",
            "outcome": {"type": "interrupt", "interrupts": []}}),
            "outcome",
        ),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r",
            "outcome": {"type": "interrupt"}}),
            "outcome",
        ),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "usage": [{"inputTokens": -1}]}),
            "usage",
        ),
        (
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [42]}),
            "messages",
        ),
        (
            json!({"type": "MESSAGES_SNAPSHOT", "messages": "m"}),
            "messages",
        ),
        (content(json!({"type": "text"})), "messages"),
        (content(json!({"type": "image"})), "messages"),
        (
            content(json!({"type": "image", "source": {"type": "data", "value": "v"}})),
            "messages",
        ),
    ] {
        let error = refused(std::slice::from_ref(&event));
        assert!(error.contains(named), "{event}: {error}");
    }
}

#[test]
fn a_newer_agent_draws_a_warning() {
    for (version, warns) in [
        ("1.0", false),
        ("0.9", false),
        ("01.00", false),
        ("1.1", true),
        ("1.10", true),
        ("2.0", true),
        ("1", true),
        ("1.0.1", true),
        ("v1.0", true),
        ("", true),
        ("1.+0", true),
        ("99999999999999999999999.0", true),
    ] {
        let mut event = started();
        event["protocolVersion"] = version.into();
        let (events, warnings) = taken(&[event.clone()]);
        assert_eq!(events, [event]);
        assert_eq!(!warnings.is_empty(), warns, "{version}");
    }
    assert!(taken(&[started()]).1.is_empty());
}

#[test]
fn warnings_of_one_frame_are_bounded() {
    let mut event = json!({"type": "CUSTOM", "name": "n", "value": 1});
    for index in 0..5_000 {
        event[format!("unknown-{index}")] = index.into();
    }
    let (events, warnings) = taken(&[event]);
    assert_eq!(events, [json!({"type": "CUSTOM", "name": "n", "value": 1})]);
    assert_eq!(warnings.len(), 17);
    assert!(warnings[16].contains("4984 more"), "{}", warnings[16]);
}

#[test]
fn several_events_may_come_in_one_frame() {
    let batch = json!([
        started(),
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "b"},
        finished(),
    ]);
    let events = stream(&[batch]).unwrap();
    assert_eq!(events.len(), 6);
    assert_eq!(stream(&[json!([])]).unwrap(), Vec::<Value>::new());
    // All of a frame or nothing.
    refused(&[json!([started(), {"type": "CUSTOM"}])]);
}
