//! The AG-UI decoder, row by row: what is translated, what is dropped, what is kept, what is refused.

mod ag_ui_support;

use ag_ui_support::{Recorder, decode, decode_into, decoder, frame, json};
use serde_json::{Value, json};
use stepwell_core::dialect::{Decode, DecodeError};
use stepwell_core::event::{Event, EventError, Rule};

const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;

/// The events and warnings of frames that are all taken.
fn taken(frames: &[Value]) -> (Vec<Value>, Vec<String>) {
    let texts: Vec<_> = frames.iter().map(Value::to_string).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let (recorder, end) = decode(&texts);
    end.unwrap_or_else(|error| panic!("{frames:?}: {error}"));
    (json(&recorder.events), recorder.warnings)
}

/// The one event and one warning of one frame.
fn one(frame: Value) -> (Value, String) {
    let (mut events, mut warnings) = taken(&[frame]);
    assert_eq!(
        (events.len(), warnings.len()),
        (1, 1),
        "{events:?} {warnings:?}"
    );
    (events.remove(0), warnings.remove(0))
}

/// The error of the last of these frames; the others are taken.
fn refused(frames: &[Value]) -> String {
    let texts: Vec<_> = frames.iter().map(Value::to_string).collect();
    let mut recorder = Recorder::default();
    let (last, before) = texts.split_last().unwrap();
    let mut decoder = decoder();
    for text in before {
        decoder
            .frame(frame(text.as_bytes()), &mut recorder)
            .unwrap();
    }
    let events = recorder.events.len();
    let error = decoder
        .frame(frame(last.as_bytes()), &mut recorder)
        .expect_err(last);
    assert_eq!(
        recorder.events.len(),
        events,
        "a frame that fails gives no event"
    );
    error.to_string()
}

/// Whether a whole stream is taken, by the decoder and by the order of events.
fn stream(frames: &[Value]) -> Result<Vec<Value>, DecodeError> {
    let texts: Vec<_> = frames.iter().map(Value::to_string).collect();
    let mut recorder = Recorder::checking();
    decode_into(&mut recorder, texts.iter().map(String::as_str))?;
    Ok(json(&recorder.events))
}

fn rule(frames: &[Value]) -> Option<Rule> {
    match stream(frames) {
        Err(DecodeError::Order(violation)) => Some(violation.rule),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

fn started() -> Value {
    serde_json::from_str(STARTED).unwrap()
}

fn finished() -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
}

// 5.1: from before 1.0

#[test]
fn thinking_is_read_as_reasoning() {
    let (events, warnings) = taken(&[
        json!({"type": "THINKING_START", "title": "Working", "timestamp": 1}),
        json!({"type": "THINKING_TEXT_MESSAGE_START"}),
        json!({"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Let me"}),
        json!({"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": " check."}),
        json!({"type": "THINKING_TEXT_MESSAGE_END"}),
        json!({"type": "THINKING_TEXT_MESSAGE_START"}),
        json!({"type": "THINKING_TEXT_MESSAGE_END"}),
        json!({"type": "THINKING_END"}),
    ]);
    let (span, first, second) = ("run-reasoning-0", "run-reasoning-1", "run-reasoning-2");
    assert_eq!(
        events,
        [
            json!({"type": "REASONING_START", "messageId": span, "timestamp": 1}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": first, "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": first, "delta": "Let me"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": first, "delta": " check."}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": first}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": second, "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": second}),
            json!({"type": "REASONING_END", "messageId": span}),
        ]
    );
    assert_eq!(warnings.len(), 9);
    assert!(warnings[0].contains("Working"), "the lost title is named");
    assert!(warnings[1].contains("THINKING_START"));
}

#[test]
fn thinking_without_a_start_is_out_of_order() {
    let end = json!({"type": "THINKING_TEXT_MESSAGE_END"});
    assert_eq!(rule(&[started(), end]), Some(Rule::O16));
    assert_eq!(
        rule(&[started(), json!({"type": "THINKING_END"})]),
        Some(Rule::O14)
    );
    let content = json!({"type": "THINKING_TEXT_MESSAGE_CONTENT"});
    assert!(refused(&[content]).contains("delta"));
}

#[test]
fn an_unknown_thinking_event_is_unknown_like_any_other() {
    let (event, warning) = one(json!({"type": "THINKING_HARD"}));
    assert_eq!(event, json!({"type": "THINKING_HARD"}));
    assert!(warning.contains("THINKING_HARD"));
}

#[test]
fn the_nulls_of_old_agents_are_absent() {
    let call = json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n"});
    let chunk = json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "n"});
    let subagent = json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s"});
    for (base, field) in [
        (&call, "parentMessageId"),
        (&chunk, "parentMessageId"),
        (&finished(), "outcome"),
        (&finished(), "result"),
        (&subagent, "result"),
        (&call, "rawEvent"),
        (&finished(), "rawEvent"),
    ] {
        let (expected, _) = taken(std::slice::from_ref(base));
        let mut with_null = base.clone();
        with_null[field] = Value::Null;
        let (event, warning) = one(with_null);
        assert_eq!([event], expected[..], "{field}");
        assert!(warning.contains(field), "{warning}");
    }
}

#[test]
fn every_other_null_is_malformed() {
    for (event, field) in [
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
            "name",
        ),
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
            "role",
        ),
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
            "metadata",
        ),
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
            "timestamp",
        ),
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
            "subagentRunId",
        ),
        (
            json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c"}),
            "toolCallName",
        ),
        (
            json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}),
            "outcome",
        ),
        (finished(), "usage"),
        (started(), "input"),
        (started(), "parentRunId"),
        (json!({"type": "RAW", "event": 1}), "source"),
    ] {
        let mut event = event;
        event[field] = Value::Null;
        assert!(refused(&[event]).contains(field), "{field}");
    }
}

#[test]
fn the_nulls_of_an_old_request_are_absent() {
    let mut event = started();
    event["input"] = json!({
        "threadId": "t", "runId": "r", "forwardedProps": null,
        "tools": [{"name": "n", "description": "d", "parameters": null}],
        "resume": [{"interruptId": "i", "status": "resolved", "payload": null}],
        "messages": [{"role": "user", "id": "m", "content": [
            {"type": "image", "source": {"type": "url", "value": "u"}, "metadata": null},
        ]}],
    });
    let (events, warnings) = taken(std::slice::from_ref(&event));
    assert_eq!(warnings.len(), 4, "{warnings:?}");
    assert_eq!(
        events[0]["input"],
        json!({
            "threadId": "t", "runId": "r",
            "tools": [{"name": "n", "description": "d"}],
            "resume": [{"interruptId": "i", "status": "resolved"}],
            "messages": [{"role": "user", "id": "m", "content": [
                {"type": "image", "source": {"type": "url", "value": "u"}},
            ]}],
        })
    );
    for (pointer, field) in [
        ("/input", "state"),
        ("/input", "tools"),
        ("/input/tools/0", "metadata"),
        ("/input/resume/0", "metadata"),
        ("/input/messages/0", "name"),
    ] {
        let mut event = event.clone();
        event.pointer_mut(pointer).unwrap()[field] = Value::Null;
        assert!(refused(&[event]).contains("input"), "{pointer}/{field}");
    }
    let mut event = event;
    event["input"]["messages"][0]["content"] =
        json!([{"type": "text", "text": "", "metadata": null}]);
    refused(&[event]);
}

#[test]
fn binary_parts_become_media_parts() {
    let snapshot = |parts: Value| {
        json!({"type": "MESSAGES_SNAPSHOT", "messages": [
            {"role": "user", "id": "m", "content": parts}]})
    };
    let (events, warnings) = taken(&[snapshot(json!([
        {"type": "text", "text": "look"},
        {"type": "binary", "mimeType": "image/png", "data": "aGk="},
        {"type": "binary", "mimeType": "audio/ogg", "url": "u"},
        {"type": "binary", "mimeType": "video/mp4", "url": "u", "data": ""},
        {"type": "binary", "mimeType": "application/pdf", "url": "u", "filename": "a.pdf"},
        {"type": "binary", "mimeType": "imagery", "id": "file-1"},
    ]))]);
    assert_eq!(
        events[0]["messages"][0]["content"],
        json!([
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
            {"type": "audio", "source": {"type": "url", "value": "u", "mimeType": "audio/ogg"}},
            {"type": "video", "source": {"type": "url", "value": "u", "mimeType": "video/mp4"}},
            {"type": "document", "source": {"type": "url", "value": "u", "mimeType": "application/pdf"},
                "metadata": {"filename": "a.pdf"}},
            {"type": "document", "source": {"type": "file", "value": "file-1", "mimeType": "imagery"}},
        ])
    );
    assert_eq!(warnings.len(), 5);

    // Sent in both forms, it is one thing; an old part that says more is not the same.
    let new =
        json!({"type": "image", "source": {"type": "url", "value": "u", "mimeType": "image/png"}});
    let (events, _) = taken(&[snapshot(json!([
        {"type": "binary", "mimeType": "image/png", "url": "u"},
        new,
        {"type": "binary", "mimeType": "image/png", "url": "u", "filename": "f"},
    ]))]);
    let parts = events[0]["messages"][0]["content"].as_array().unwrap();
    assert_eq!((parts.len(), &parts[0]), (2, &new));

    // One that has no new form is an unknown part, which is dropped.
    let (events, warnings) = taken(&[snapshot(json!([
        {"type": "binary", "mimeType": "image/png"},
        {"type": "binary", "data": "aGk="},
    ]))]);
    assert_eq!(events[0]["messages"][0]["content"], json!([]));
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("/messages/0/content/1"))
    );
}

// 5.2: unknown and malformed

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
fn an_unknown_event_is_handed_on() {
    let event = json!({"type": "FUTURE_EVENT", "messageId": null, "deep": {"a": [1]}});
    let (kept, warning) = one(event.clone());
    assert_eq!(kept, event);
    assert!(warning.contains("FUTURE_EVENT"));
    assert_eq!(
        rule(&[event.clone(), started(), event.clone(), finished(), event]),
        None
    );
}

#[test]
fn an_unknown_field_is_kept_with_a_warning() {
    for event in [
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "d", "newer": 1}),
        json!({"type": "RUN_ERROR", "message": "m", "newer": {"a": null}}),
        json!({"type": "RUN_ERROR", "message": "m", "subagentRunId": "newer"}),
        json!({"type": "CUSTOM", "name": "n", "value": 1, "toString": "newer"}),
    ] {
        let (kept, warning) = one(event.clone());
        assert_eq!(kept, event);
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
    assert_eq!(events[0]["outcome"]["interrupts"][0]["newer"], 1);
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
    let (events, warnings) = taken(&[event.clone()]);
    assert_eq!(events, [event]);
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

// 5.3: chunks

fn text_chunk(fields: Value) -> Value {
    chunk("TEXT_MESSAGE_CHUNK", fields)
}

fn chunk(kind: &str, mut fields: Value) -> Value {
    fields["type"] = kind.into();
    fields
}

fn text_start(id: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"})
}

fn text_content(id: &str, delta: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta})
}

fn text_end(id: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_END", "messageId": id})
}

fn of(mut event: Value, subagent: &str) -> Value {
    event["subagentRunId"] = subagent.into();
    event
}

/// The events of frames that are all taken without a warning.
fn expanded(frames: &[Value]) -> Vec<Value> {
    let (events, warnings) = taken(frames);
    assert_eq!(warnings, Vec::<String>::new());
    events
}

#[test]
fn chunks_become_start_content_and_end() {
    assert_eq!(
        expanded(&[
            text_chunk(json!({"messageId": "m", "delta": "a"})),
            text_chunk(json!({"delta": "b"})),
            text_chunk(json!({"messageId": "m", "delta": ""})),
            text_chunk(json!({"messageId": "m", "role": "assistant"})),
            text_chunk(json!({"messageId": "n", "role": "user", "name": "Ada"})),
            finished(),
        ]),
        [
            text_start("m"),
            text_content("m", "a"),
            text_content("m", "b"),
            text_content("m", ""),
            text_end("m"),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "user", "name": "Ada"}),
            text_end("n"),
            finished(),
        ]
    );
    assert_eq!(
        expanded(&[
            chunk(
                "TOOL_CALL_CHUNK",
                json!({"toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"})
            ),
            chunk("TOOL_CALL_CHUNK", json!({"delta": "{}"})),
            chunk(
                "REASONING_MESSAGE_CHUNK",
                json!({"messageId": "r", "delta": "hm"})
            ),
            finished(),
        ]),
        [
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "hm"}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": "r"}),
            finished(),
        ]
    );
}

#[test]
fn a_first_chunk_says_what_it_begins() {
    for (first, missing) in [
        (text_chunk(json!({"delta": "d"})), "messageId"),
        (
            chunk("REASONING_MESSAGE_CHUNK", json!({"delta": "d"})),
            "messageId",
        ),
        (
            chunk("TOOL_CALL_CHUNK", json!({"delta": "d"})),
            "toolCallId",
        ),
        (
            chunk("TOOL_CALL_CHUNK", json!({"toolCallName": "n"})),
            "toolCallId",
        ),
        (
            chunk("TOOL_CALL_CHUNK", json!({"toolCallId": "c"})),
            "toolCallName",
        ),
    ] {
        let error = refused(std::slice::from_ref(&first));
        assert!(error.contains(missing), "{first}: {error}");
    }
    // Not the same kind: it goes on with nothing.
    let text = text_chunk(json!({"messageId": "m"}));
    refused(&[
        text,
        chunk("REASONING_MESSAGE_CHUNK", json!({"delta": "d"})),
    ]);
}

#[test]
fn a_continuing_chunk_only_repeats() {
    let text = |role: Value, name: Value| {
        let mut fields = json!({"messageId": "m"});
        if !role.is_null() {
            fields["role"] = role;
        }
        if !name.is_null() {
            fields["name"] = name;
        }
        text_chunk(fields)
    };
    let null = Value::Null;
    for (first, next, field) in [
        (
            text(null.clone(), null.clone()),
            text(json!("user"), null.clone()),
            "role",
        ),
        (
            text(json!("user"), null.clone()),
            text(json!("assistant"), null.clone()),
            "role",
        ),
        (
            text(null.clone(), null.clone()),
            text(null.clone(), json!("Ada")),
            "name",
        ),
        (
            text(null.clone(), json!("Ada")),
            text(null.clone(), json!("Bob")),
            "name",
        ),
    ] {
        let error = refused(&[first, next]);
        assert!(error.contains(&format!("another {field}")), "{error}");
    }
    let call = chunk(
        "TOOL_CALL_CHUNK",
        json!({"toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"}),
    );
    let error = refused(&[
        call.clone(),
        chunk("TOOL_CALL_CHUNK", json!({"toolCallName": "o"})),
    ]);
    assert!(error.contains("another toolCallName"), "{error}");
    let error = refused(&[
        call.clone(),
        chunk("TOOL_CALL_CHUNK", json!({"parentMessageId": "o"})),
    ]);
    assert!(error.contains("another parentMessageId"), "{error}");
    assert_eq!(expanded(&[call.clone(), call]).len(), 1, "it only repeats");
}

#[test]
fn attachments_of_a_chunk_go_where_they_belong() {
    let (metadata, raw) = (json!({"k": 1}), json!({"provider": "own"}));
    assert_eq!(
        expanded(&[
            text_chunk(
                json!({"messageId": "m", "metadata": metadata, "rawEvent": raw, "timestamp": 7})
            ),
            text_chunk(json!({"metadata": metadata})),
            text_chunk(json!({"rawEvent": raw})),
            text_chunk(json!({})),
            text_chunk(json!({"messageId": "n", "metadata": metadata})),
        ]),
        [
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "timestamp": 7, "metadata": metadata}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", "timestamp": 7, "rawEvent": raw, "metadata": metadata}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", "metadata": metadata}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", "rawEvent": raw}),
            // Nothing of a chunk goes onto the end of the item before.
            text_end("m"),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "assistant", "metadata": metadata}),
        ]
    );
    // Unknown fields go with the content, or with the start where there is none.
    let (events, _) = taken(&[
        text_chunk(json!({"messageId": "m", "newer": 1})),
        text_chunk(json!({"delta": "d", "newer": 2})),
        text_chunk(json!({"messageId": "n", "delta": "d", "newer": 3})),
    ]);
    let newer: Vec<_> = events
        .iter()
        .map(|event| event.get("newer").and_then(Value::as_u64))
        .collect();
    assert_eq!(newer, [Some(1), Some(2), None, None, Some(3)]);
}

#[test]
fn lanes_are_found_by_id_by_subagent_or_by_being_the_only_one() {
    let opened = [
        of(text_chunk(json!({"messageId": "a", "delta": "1"})), "s1"),
        of(text_chunk(json!({"messageId": "b", "delta": "1"})), "s2"),
    ];
    let after = |more: &[Value]| {
        let frames = [&opened[..], more].concat();
        expanded(&frames).split_off(4)
    };
    // By id, with the opener's subagent.
    assert_eq!(
        after(&[text_chunk(json!({"messageId": "a", "delta": "2"}))]),
        [of(text_content("a", "2"), "s1")]
    );
    // By subagent.
    assert_eq!(
        after(&[of(text_chunk(json!({"delta": "2"})), "s2")]),
        [of(text_content("b", "2"), "s2")]
    );
    // Neither: two lanes hold text.
    let frames = [&opened[..], &[text_chunk(json!({"delta": "2"}))]].concat();
    assert!(refused(&frames).contains("several subagents"));
    // Neither, but the parent's own lane holds text.
    assert_eq!(
        after(&[
            text_chunk(json!({"messageId": "p"})),
            text_chunk(json!({"delta": "2"}))
        ]),
        [text_start("p"), text_content("p", "2")]
    );
    // Neither, and only one lane holds text.
    assert_eq!(
        expanded(&[opened[0].clone(), text_chunk(json!({"delta": "2"}))])[2..],
        [of(text_content("a", "2"), "s1")]
    );
    // The id of one lane with the subagent of another.
    let frames = [
        &opened[..],
        &[of(text_chunk(json!({"messageId": "a"})), "s2")],
    ]
    .concat();
    assert!(refused(&frames).contains("subagent 's1'"));
    // An id of another kind of item says nothing.
    let call = chunk(
        "TOOL_CALL_CHUNK",
        json!({"toolCallId": "a", "toolCallName": "n"}),
    );
    assert_eq!(after(&[call]).len(), 1);
    // The subagent with the empty name is not the parent agent.
    let empty = of(text_chunk(json!({"messageId": "e"})), "");
    assert_eq!(
        after(&[empty, text_chunk(json!({"messageId": "p"}))]).len(),
        2
    );
}

#[test]
fn each_event_ends_the_chunks_that_the_protocol_says() {
    let open = [
        text_chunk(json!({"messageId": "p"})),
        of(text_chunk(json!({"messageId": "s"})), "sub"),
    ];
    let ended_by = |event: Value| {
        let frames = [&open[..], std::slice::from_ref(&event)].concat();
        let events = expanded(&frames).split_off(2);
        assert_eq!(
            events.last(),
            Some(&event),
            "the event comes after the ends"
        );
        let ended: Vec<_> = events[..events.len() - 1]
            .iter()
            .map(|end| {
                assert_eq!(end["type"], "TEXT_MESSAGE_END");
                end["messageId"].as_str().unwrap().to_owned()
            })
            .collect();
        ended.concat()
    };
    for own in [
        json!({"type": "TEXT_MESSAGE_START", "messageId": "x"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "x", "delta": ""}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": "x"}),
        json!({"type": "TOOL_CALL_START", "toolCallId": "x", "toolCallName": "n"}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": "x", "delta": ""}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "x"}),
        json!({"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "x", "content": ""}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": 1}),
        json!({"type": "STATE_DELTA", "delta": []}),
        json!({"type": "CUSTOM", "name": "n", "value": 1}),
        json!({"type": "STEP_STARTED", "stepName": "x"}),
        json!({"type": "STEP_FINISHED", "stepName": "x"}),
        json!({"type": "REASONING_START", "messageId": "x"}),
        json!({"type": "REASONING_END", "messageId": "x"}),
        json!({"type": "REASONING_MESSAGE_START", "messageId": "x", "role": "reasoning"}),
        json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "x", "delta": ""}),
        json!({"type": "REASONING_MESSAGE_END", "messageId": "x"}),
    ] {
        assert_eq!(ended_by(own.clone()), "p", "{own}");
        assert_eq!(ended_by(of(own.clone(), "sub")), "s", "{own}");
        assert_eq!(ended_by(of(own.clone(), "other")), "", "{own}");
    }
    for all in [
        started(),
        finished(),
        json!({"type": "RUN_ERROR", "message": "m"}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": []}),
    ] {
        assert_eq!(ended_by(all.clone()), "ps", "{all}");
    }
    for subagents in [
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "sub"}),
        json!({"type": "SUBAGENT_ERROR", "subagentRunId": "sub", "message": "m"}),
    ] {
        assert_eq!(ended_by(subagents.clone()), "s", "{subagents}");
    }
    for none in [
        json!({"type": "RAW", "event": 1}),
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "x", "activityType": "t", "content": {}}),
        json!({"type": "ACTIVITY_DELTA", "messageId": "x", "activityType": "t", "patch": []}),
        json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "x", "encryptedValue": ""}),
        json!({"type": "SUBAGENT_STARTED", "subagentRunId": "sub", "name": "n"}),
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "other"}),
    ] {
        assert_eq!(ended_by(none.clone()), "", "{none}");
    }
}

#[test]
fn the_ends_of_chunks_come_in_the_order_of_their_starts() {
    let chunks: Vec<_> = ["s3", "s1", "s2"]
        .iter()
        .map(|id| of(text_chunk(json!({"messageId": id})), id))
        .chain([finished()])
        .collect();
    let events = expanded(&chunks);
    let ends: Vec<_> = events[3..6]
        .iter()
        .map(|event| &event["messageId"])
        .collect();
    assert_eq!(ends, ["s3", "s1", "s2"]);
}

#[test]
fn the_end_of_the_stream_ends_no_chunk() {
    assert_eq!(
        expanded(&[text_chunk(json!({"messageId": "m"}))]),
        [text_start("m")]
    );
}

#[test]
fn open_chunks_are_bounded() {
    let mut recorder = Recorder::default();
    let mut decoder = decoder();
    let error = (0..5_000).find_map(|index| {
        let chunk = of(text_chunk(json!({"messageId": "m"})), &index.to_string());
        let chunk = chunk.to_string().replace("\"m\"", &format!("\"m{index}\""));
        decoder.frame(frame(chunk.as_bytes()), &mut recorder).err()
    });
    assert!(
        matches!(error, Some(DecodeError::TooMany { limit: 1024, .. })),
        "{error:?}"
    );
}

// Section 10: what the reference client was seen to do

#[test]
fn the_reference_clients_verdicts() {
    let text = |id: &str| vec![text_start(id), text_content(id, "a"), text_end(id)];
    let run = |events: &[Value]| [&[started()], events, &[finished()]].concat();
    let error = json!({"type": "RUN_ERROR", "message": "m"});
    let raw = json!({"type": "RAW", "event": 1});
    let custom = json!({"type": "CUSTOM", "name": "n", "value": 1});
    let first = text_chunk(json!({"messageId": "m", "delta": "a"}));
    let next = text_chunk(json!({"delta": "b"}));
    let result = json!({"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "unknown", "content": ""});
    let ok = |frames: &[Value]| {
        stream(frames).unwrap_or_else(|error| panic!("{frames:?}: {error}"));
    };
    ok(&run(&[text("m"), text("m")].concat()));
    ok(&[]);
    ok(&[started()]);
    ok(std::slice::from_ref(&error));
    ok(&[error.clone(), started(), finished()]);
    assert_eq!(
        rule(&[started(), error.clone(), finished()]),
        Some(Rule::O4)
    );
    ok(&[started(), finished(), error]);
    ok(&run(&[result.clone(), result]));
    ok(&run(&[
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n", "parentMessageId": null}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{not json"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
    ]));
    ok(&run(&[
        json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}]}),
    ]));
    ok(&run(&[first.clone(), raw, next.clone()]));
    assert!(matches!(
        stream(&run(&[first.clone(), custom.clone(), next])),
        Err(DecodeError::Event(EventError::Chunk { .. }))
    ));
    // A chunk that repeats the id opens the message again.
    ok(&run(&[first.clone(), custom, first.clone()]));
    assert_eq!(rule(&run(&[first, text_content("m", "b")])), Some(Rule::O7));
    let call = json!({"type": "TOOL_CALL_START", "toolCallId": "m", "toolCallName": "n"});
    let call_end = json!({"type": "TOOL_CALL_END", "toolCallId": "m"});
    ok(&run(&[&[call], &text("m")[..], &[call_end]].concat()));
    ok(&[
        started(),
        json!({"type": "RUN_FINISHED", "threadId": "other", "runId": "other"}),
        json!({"type": "RUN_STARTED", "threadId": "another", "runId": "r"}),
    ]);
}

// The short way of a delta

#[test]
fn plain_deltas_take_the_short_way() {
    let (recorder, end) = decode(&[
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"plain"}"#,
        r#" { "delta" : "q\"\u00e9\ud83d\ude00" , "messageId":"\u006d","type":"REASONING_MESSAGE_CONTENT"} "#,
        r#"{"toolCallId":"c","delta":"{\"a\":1}","type":"TOOL_CALL_ARGS"}"#,
    ]);
    end.unwrap();
    assert_eq!(recorder.borrowed, 3);
    assert_eq!(
        json(&recorder.events),
        [
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "plain"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "q\"é😀"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{\"a\":1}"}),
        ]
    );
}

#[test]
fn a_delta_with_attachments_loses_nothing() {
    for (field, value) in [
        ("timestamp", json!(7)),
        ("metadata", json!({})),
        ("subagentRunId", json!("s")),
        ("rawEvent", json!([1])),
    ] {
        let mut event = text_content("m", "d");
        event[field] = value;
        assert_eq!(expanded(std::slice::from_ref(&event)), [event]);
    }
}

#[test]
fn a_plain_delta_ends_the_parents_chunk() {
    let (events, _) = taken(&[
        text_chunk(json!({"messageId": "m"})),
        of(text_chunk(json!({"messageId": "n"})), "s"),
        text_content("x", "d"),
    ]);
    assert_eq!(events[2..], [text_end("m"), text_content("x", "d")]);
}

#[test]
fn i4_a_snapshot_in_mid_stream_goes_on_the_same() {
    let frames = [
        json!({"type": "THINKING_START"}),
        json!({"type": "THINKING_TEXT_MESSAGE_START"}),
        of(
            chunk(
                "TOOL_CALL_CHUNK",
                json!({"toolCallId": "c", "toolCallName": "n"}),
            ),
            "s",
        ),
        text_content("x", "with \"escapes\""),
        json!({"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "d"}),
        of(chunk("TOOL_CALL_CHUNK", json!({"delta": "{}"})), "s"),
        json!({"type": "THINKING_TEXT_MESSAGE_END"}),
        json!({"type": "THINKING_END"}),
        finished(),
    ];
    let (expected, _) = taken(&frames);
    let mut recorder = Recorder::default();
    let mut live = decoder();
    for data in &frames {
        let snapshot = serde_json::to_string(&live).unwrap();
        let mut restored = serde_json::from_str(&snapshot).unwrap();
        assert_eq!(live, restored);
        restored
            .frame(frame(data.to_string().as_bytes()), &mut recorder)
            .unwrap();
        live = restored;
    }
    assert_eq!(json(&recorder.events), expected);
}

#[test]
fn the_sinks_refusal_stops_the_stream() {
    let mut recorder = Recorder::checking();
    let end = decode_into(
        &mut recorder,
        [
            STARTED,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}"#,
        ],
    );
    assert!(matches!(end, Err(DecodeError::Order(violation)) if violation.rule == Rule::O7));
    assert!(matches!(recorder.events[..], [Event::RunStarted(_)]));
}
