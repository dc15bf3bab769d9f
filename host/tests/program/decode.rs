use crate::run::{Ran, run};
use serde_json::{Value, json};

/// A Chat Completions stream of these chunks' choices.
fn chat(chunks: &[Value]) -> String {
    let mut body = String::from(": keep-alive\r\n\r\n");
    for chunk in chunks {
        body.push_str(&format!("data: {chunk}\r\n\r\n"));
    }
    body
}

fn delta(delta: impl Into<Value>) -> Value {
    let delta = delta.into();
    json!({ "id": "c", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn stop(reason: &str) -> Value {
    json!({ "id": "c", "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

/// Decodes at several chunk sizes, which must not matter.
#[track_caller]
fn decode(provider: &str, body: impl AsRef<[u8]>) -> Ran {
    let body = body.as_ref();
    let whole = run(&["decode", "--provider", provider, "-"], body);
    for chunk in ["1", "7", "1024"] {
        let arguments = ["decode", "--provider", provider, "--chunk", chunk];
        let cut = run(&arguments, body);
        assert_eq!(
            (&cut.out, &cut.err, cut.code),
            (&whole.out, &whole.err, whole.code),
            "in chunks of {chunk}"
        );
    }
    whole
}

#[test]
fn text_reasoning_and_usage() {
    let body = chat(&[
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "reasoning_content": "Hm, " })),
        delta(json!({ "reasoning_content": "a greeting." })),
        delta(json!({ "content": "Grüß " })),
        delta(json!({ "content": "dich 🚀" })),
        stop("stop"),
        json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8 } }),
    ]) + "data: [DONE]\n\n";
    assert_eq!(
        decode("openai-compatible", &body).succeeded().json(),
        json!({
            "text": "Grüß dich 🚀",
            "reasoning": "Hm, a greeting.",
            "tool_calls": [],
            "stop_reason": "stop",
            "usage": { "input": 3, "output": 5 },
            "error": null,
        })
    );
}

#[test]
fn calls_that_come_mixed_and_arguments_of_every_kind() {
    let call = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut call = json!({ "index": index, "function": { "arguments": arguments } });
        if let (Some(id), Some(name)) = (id, name) {
            call["id"] = id.into();
            call["function"]["name"] = name.into();
        }
        delta(json!({ "tool_calls": [call] }))
    };
    let body = chat(&[
        call(0, Some("a"), Some("find"), ""),
        call(1, Some("b"), Some("now"), ""),
        call(2, Some("c"), Some("cut"), "{\"x"),
        call(0, None, None, "{\"q\":\"é\""),
        call(0, None, None, "}"),
        stop("tool_calls"),
    ]) + "data: [DONE]\n\n";
    assert_eq!(
        decode("openai", &body).succeeded().json(),
        json!({
            "text": "",
            "reasoning": null,
            "tool_calls": [
                { "id": "a", "name": "find", "arguments": { "q": "é" } },
                { "id": "b", "name": "now", "arguments": {} },
                { "id": "c", "name": "cut", "arguments": "{\"x" },
            ],
            "stop_reason": "tool_calls",
            "usage": null,
            "error": null,
        })
    );
}

#[track_caller]
fn fails(provider: &str, body: &str, text: &str, error: &Value, line: &str) {
    let ran = decode(provider, body);
    let decoded = ran.json();
    assert_eq!((&decoded["text"], &decoded["error"]), (&json!(text), error));
    assert!(ran.failed(1).contains(line), "{}", ran.err);
}

#[test]
fn an_error_in_the_stream_is_told_with_what_came_before() {
    let body = chat(&[
        delta(json!({ "content": "So" })),
        json!({ "error": { "message": "Out of\nluck", "code": "no_luck" } }),
    ]);
    let message = "the stream reports an error: Out of\nluck";
    let error = json!({ "message": message, "code": "no_luck" });
    fails("openai", &body, "So", &error, "Out of luck");
}

#[test]
fn a_stream_that_stops_too_soon_is_no_answer() {
    let message = "the stream ended before the answer did";
    let error = json!({ "message": message, "code": "truncated" });
    let body = chat(&[delta(json!({ "content": "So" }))]);
    fails("openai", &body, "So", &error, message);
    fails("openai", "", "", &error, message);
    let cut = format!("{body}data: {{\"choices\":[{{\"del");
    fails("openai", &cut, "So", &error, message);
}

#[test]
fn a_stream_that_is_none_is_said_to_be_none() {
    let body = chat(&[delta(json!({ "content": "So" }))]) + "data: {\"choices\":[}\n\n";
    let ran = decode("openai", &body);
    assert_eq!(ran.json()["text"], "So");
    assert_eq!(ran.json()["error"]["code"], "malformed");
    assert!(
        ran.failed(1).starts_with("frame 2 of the stream: "),
        "{}",
        ran.err
    );

    let page = "<!doctype html>\n<html><body>Bad gateway</body></html>\n";
    assert_eq!(decode("openai", page).json()["error"]["code"], "truncated");
}

/// Returns the error code for the stream.
fn code(provider: &str, body: &str) -> Value {
    decode(provider, body).json()["error"]["code"].clone()
}

#[test]
fn what_a_failed_stream_cost_is_told() {
    let body = chat(&[
        json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 5 } }),
        json!({ "error": { "message": "Out of luck", "code": "no_luck" } }),
    ]);
    let decoded = decode("openai", &body).json();
    assert_eq!(decoded["usage"], json!({ "input": 3, "output": 5 }));
    let body = "event: message_start\n\
        data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":18,\"output_tokens\":1}}}\n\n\
        event: error\n\
        data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let decoded = decode("anthropic", body).json();
    assert_eq!(decoded["usage"], json!({ "input": 18, "output": 1 }));
}

#[test]
fn a_limit_is_called_a_limit() {
    let calls: Vec<_> = (0..1_025)
        .map(|index| json!({ "index": index, "id": format!("c{index}"), "function": { "name": "f" } }))
        .collect();
    let many = chat(&[delta(json!({ "tool_calls": calls }))]);
    assert_eq!(code("openai", &many), "limit");
    // Not in smaller chunks, which would take a debug build long.
    let endless = format!("data: {}", "x".repeat(65 << 20));
    for chunk in ["1024", "1048576"] {
        let arguments = ["decode", "--provider", "openai", "--chunk", chunk];
        let decoded = run(&arguments, endless.as_bytes()).json();
        assert_eq!(decoded["error"]["code"], "limit", "in chunks of {chunk}");
    }
}

#[test]
fn ag_ui_has_its_own_events() {
    let events = [
        json!({ "type": "RUN_STARTED", "threadId": "t", "runId": "r" }),
        json!({ "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant" }),
        json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hel" }),
        json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "lo" }),
        json!({ "type": "TEXT_MESSAGE_END", "messageId": "m" }),
        json!({ "type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "now", "parentMessageId": "m" }),
        json!({ "type": "TOOL_CALL_END", "toolCallId": "c" }),
        json!({ "type": "RUN_FINISHED", "threadId": "t", "runId": "r" }),
    ];
    let body: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let decoded = decode("ag-ui", &body).succeeded().json();
    assert_eq!(decoded["text"], "Hello");
    assert_eq!(
        decoded["tool_calls"],
        json!([{ "id": "c", "name": "now", "arguments": {} }])
    );
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    assert_eq!(decode("ag-ui", &lines).succeeded().json(), decoded);
    let mut binary = Vec::new();
    for event in &events {
        let event: stepwell_core::event::Event =
            serde_json::from_value(event.clone()).expect("an event");
        stepwell_core::event::protobuf::encode_frame((&event).into(), &mut binary)
            .expect("a known event");
    }
    assert_eq!(decode("ag-ui", &binary).succeeded().json(), decoded);

    let left_open = body.replace("TEXT_MESSAGE_END", "CUSTOM_END");
    let problem = decode("ag-ui", &left_open).json()["error"].clone();
    assert_eq!(problem["code"], "malformed", "{problem}");

    let orphan = events[2].to_string();
    let started = format!("data: {}\n\ndata: {orphan}\n\n", events[0]);
    assert_eq!(
        decode("ag-ui", &started).json()["error"]["code"],
        "malformed"
    );
}
