//! What agents from before 1.0 send.

use crate::support::*;
use serde_json::{Value, json};
use stepwell_core::event::Rule;

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
    let (events, warnings) = taken(&[json!({"type": "THINKING_HARD"})]);
    assert!(events.is_empty());
    assert!(warnings[0].contains("THINKING_HARD"));
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

fn asked(value: &Value, native: &Value) -> Value {
    json!({"type": "CUSTOM", "name": "on_interrupt", "value": value, "rawEvent": native})
}

#[test]
fn what_langgraph_asks_is_the_runs_outcome() {
    let question = json!({
        "message": "Which?",
        "reason": "choice",
        "tool_call_id": "call",
        "response_schema": {"type": "string"},
        "expires_at": "2030-01-01T00:00:00Z",
        "subject": 3,
    });
    let sent = question.to_string();
    let events = [
        started(),
        asked(&json!(sent), &json!({"id": "a"})),
        // Its adapter says the same again where a run begins with it.
        asked(&json!(sent), &json!({"id": "a"})),
        asked(&json!("Sure?"), &Value::Null),
        asked(&json!("[1]"), &json!({"id": 1})),
        finished(),
    ];
    let (events, warnings) = taken(&events);
    let mark = |raw: Value| json!({"langgraph": {"event": "on_interrupt", "raw": raw}});
    let interrupts = json!([
        {
            "id": "a",
            "reason": "choice",
            "message": "Which?",
            "toolCallId": "call",
            "responseSchema": {"type": "string"},
            "expiresAt": "2030-01-01T00:00:00Z",
            "metadata": {"langgraph": {"event": "on_interrupt", "id": "a", "raw": question}},
        },
        {
            "id": "run-interrupt-1",
            "reason": "langgraph:interrupt",
            "message": "Sure?",
            "metadata": mark(json!("Sure?")),
        },
        {
            "id": "run-interrupt-2",
            "reason": "langgraph:interrupt",
            "message": "[1]",
            "metadata": mark(json!([1])),
        },
    ]);
    let last = events.last().unwrap();
    assert_eq!(
        last["outcome"],
        json!({"type": "interrupt", "interrupts": interrupts})
    );
    let custom = |event: &&Value| event["type"] == "CUSTOM";
    assert_eq!(events.iter().filter(custom).count(), 4, "they are shown");
    assert!(warnings.iter().any(|warning| warning.contains("LangGraph")));
}

#[test]
fn a_question_that_nests_too_deep_is_a_text() {
    let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
    let (events, _) = taken(&[started(), asked(&json!(deep), &Value::Null), finished()]);
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
    assert_eq!(interrupt["metadata"]["langgraph"]["raw"], deep);
}

#[test]
fn an_outcome_that_is_said_counts_whatever_langgraph_asked() {
    let mut finished = finished();
    finished["outcome"] = json!({"type": "success"});
    let question = asked(&json!("Sure?"), &json!({"id": "a"}));
    let (events, _) = taken(&[started(), question, finished.clone()]);
    assert_eq!(events.last(), Some(&finished));
}

#[test]
fn what_langgraph_asked_in_one_run_is_not_the_next_ones() {
    let question = asked(&json!("Sure?"), &json!({"id": "a"}));
    let failed = json!({"type": "RUN_ERROR", "message": "no"});
    let (events, _) = taken(&[started(), question, failed, started(), finished()]);
    assert_eq!(events.last(), Some(&finished()));
}
