//! What is streamed to chats.

use serde_json::{Value, json};
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::Event;
use stepwell_serve::UiMessageEncoder;

/// The parts that come of these events, and the last frame.
fn parts(events: &[Value], notes: &[(&str, ToolCallStatus)]) -> (Vec<Value>, String) {
    let mut encoder = UiMessageEncoder::new("a");
    let mut frames = Vec::new();
    for event in events {
        let event: Event = serde_json::from_value(event.clone()).expect("an event");
        if let Event::ToolCallResult(result) = &event {
            let note = notes
                .iter()
                .find(|(call, _)| *call == result.tool_call_id.as_str());
            if let Some((_, status)) = note {
                encoder.note(&result.tool_call_id, *status);
            }
        }
        encoder.encode(&event, &mut frames).expect("it is written");
    }
    let text = String::from_utf8(frames).expect("UTF-8");
    let mut frames: Vec<_> = text
        .split_terminator("\n\n")
        .map(|frame| {
            assert!(!frame.contains('\n'), "one line a frame: {frame}");
            frame.strip_prefix("data: ").expect("data")
        })
        .collect();
    let last = frames.pop().unwrap_or_default().to_owned();
    let read = |frame: &str| serde_json::from_str(frame).expect("JSON");
    (frames.into_iter().map(read).collect(), last)
}

fn finished(outcome: &Value) -> Value {
    json!({ "type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome })
}

fn call(id: &str, arguments: &str) -> [Value; 3] {
    [
        json!({ "type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "look" }),
        json!({ "type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": arguments }),
        json!({ "type": "TOOL_CALL_END", "toolCallId": id }),
    ]
}

fn result(id: &str, content: &str) -> Value {
    json!({ "type": "TOOL_CALL_RESULT", "messageId": format!("{id}-r"), "toolCallId": id, "content": content })
}

#[test]
fn text_after_results_is_another_step() {
    let mut events = vec![json!({ "type": "RUN_STARTED", "threadId": "t", "runId": "r" })];
    events.extend(call("c", "{\n}"));
    events.push(result("c", "[\n1]"));
    events.extend([
        json!({ "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant" }),
        json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a\nb" }),
        json!({ "type": "TEXT_MESSAGE_END", "messageId": "m" }),
        finished(&json!({ "type": "success" })),
    ]);
    let (parts, last) = parts(&events, &[]);
    assert_eq!(last, "[DONE]");
    assert_eq!(
        json!(parts),
        json!([
            { "type": "start", "messageId": "a" },
            { "type": "start-step" },
            { "type": "tool-input-start", "toolCallId": "c", "toolName": "look" },
            { "type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "{\n}" },
            { "type": "tool-input-available", "toolCallId": "c", "toolName": "look", "input": {} },
            { "type": "tool-output-available", "toolCallId": "c", "output": [1] },
            { "type": "finish-step" },
            { "type": "start-step" },
            { "type": "text-start", "id": "m" },
            { "type": "text-delta", "id": "m", "delta": "a\nb" },
            { "type": "text-end", "id": "m" },
            { "type": "finish-step" },
            { "type": "finish", "finishReason": "stop" },
        ])
    );
}

#[test]
fn a_result_says_what_became_of_its_call() {
    let events = ["failed", "denied", "odd", "done"].map(|id| result(id, id));
    let notes = [
        ("failed", ToolCallStatus::Failed),
        ("denied", ToolCallStatus::Denied),
        ("done", ToolCallStatus::Completed),
    ];
    let (mut parts, last) = parts(&events, &notes);
    parts.push(serde_json::from_str(&last).expect("JSON"));
    let kinds: Vec<_> = parts.iter().map(|part| &part["type"]).collect();
    assert_eq!(
        kinds,
        [
            "tool-output-error",
            "tool-output-denied",
            "tool-output-available",
            "tool-output-available"
        ]
    );
    assert_eq!(parts[0]["errorText"], "failed");
}

#[test]
fn the_end_says_how_it_is() {
    let end = |event: Value| parts(&[event], &[]);
    let reason = |outcome: Value| {
        let (parts, last) = end(finished(&outcome));
        assert_eq!(last, "[DONE]");
        parts.last().map(|part| part["finishReason"].clone())
    };
    let pending = json!({ "type": "success", "pendingToolCallIds": ["c"] });
    assert_eq!(reason(pending), Some(json!("tool-calls")));
    let (stopped, last) = end(finished(&json!({ "type": "cancelled" })));
    assert_eq!(
        (json!(stopped), last.as_str()),
        (json!([{ "type": "abort" }]), "[DONE]")
    );
    let mut cut = finished(&json!({ "type": "success" }));
    cut["metadata"] = json!({ "stopReason": "length" });
    assert_eq!(end(cut).0[0]["finishReason"], "length");
    let (failed, _) = end(json!({ "type": "RUN_ERROR", "message": "no" }));
    assert_eq!(
        json!(failed),
        json!([{ "type": "error", "errorText": "no" }, { "type": "finish", "finishReason": "error" }])
    );
}

#[test]
fn whether_a_call_may_run_is_an_approval_and_any_other_question_is_data() {
    let interrupts = json!([
        { "id": "i", "reason": "tool_call", "toolCallId": "c" },
        { "id": "j", "reason": "which" },
        { "id": "k", "reason": "input_required", "toolCallId": "c" },
    ]);
    let outcome = json!({ "type": "interrupt", "interrupts": interrupts });
    let (parts, _) = parts(&[finished(&outcome)], &[]);
    assert_eq!(
        parts[0],
        json!({ "type": "tool-approval-request", "approvalId": "i", "toolCallId": "c" })
    );
    assert_eq!(
        (&parts[1]["type"], &parts[1]["data"]["id"]),
        (&json!("data-interrupt"), &json!("j"))
    );
    assert_eq!(
        (&parts[2]["type"], &parts[2]["data"]["id"]),
        (&json!("data-interrupt"), &json!("k"))
    );
}

#[test]
fn the_words_of_others_are_left_out() {
    let events = [
        json!({ "type": "TEXT_MESSAGE_START", "messageId": "u", "role": "user" }),
        json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "u", "delta": "hi" }),
        json!({ "type": "TEXT_MESSAGE_END", "messageId": "u" }),
    ];
    assert_eq!(parts(&events, &[]), (Vec::new(), String::new()));
}

#[test]
fn reports_of_a_call_replace_each_other() {
    let report = |name: &str, call: &str| {
        let value = json!({ "toolCallId": call, "message": "half" });
        json!({ "type": "CUSTOM", "name": name, "value": value })
    };
    let events = [
        report("tool_progress", "c1"),
        report("tool_progress", "c2"),
        report("tool_partial_result", "c1"),
        report("other", "c1"),
        finished(&json!({ "type": "success" })),
    ];
    let (parts, _) = parts(&events, &[]);
    let ids = parts[..4].iter().map(|part| (&part["type"], &part["id"]));
    let ids: Vec<_> = ids.collect();
    assert_eq!(
        ids,
        [
            (&json!("data-tool_progress"), &json!("c1")),
            (&json!("data-tool_progress"), &json!("c2")),
            (&json!("data-tool_partial_result"), &json!("c1")),
            (&json!("data-other"), &Value::Null),
        ]
    );
}

#[test]
fn the_end_says_how_many_tokens_were_used() {
    let usage = json!([
        { "provider": "p", "model": "a", "inputTokens": 10, "outputTokens": 5, "reasoningTokens": 2 },
        { "provider": "p", "model": "b", "inputTokens": 1, "outputTokens": 1, "totalTokens": 4, "cachedInputTokens": 1 },
    ]);
    let sum = json!({ "usage": { "inputTokens": 11, "outputTokens": 6, "totalTokens": 19, "reasoningTokens": 2,
        "cachedInputTokens": 1 } });
    let mut success = finished(&json!({ "type": "success" }));
    success["usage"] = usage.clone();
    let failed = json!({ "type": "RUN_ERROR", "message": "no", "usage": usage });
    for end in [success, failed] {
        let (parts, _) = parts(&[end], &[]);
        let finish = parts.last().expect("an end");
        assert_eq!(finish["type"], "finish");
        assert_eq!(finish["messageMetadata"], sum);
    }
}
