use serde_json::{Value, json};
use stepwell_mock_llm::{Dialect, Hop, Script};

use crate::client::{events, json_of, post, run, run_input, serve, start};

#[tokio::test]
async fn an_answer_is_a_run_with_one_message() {
    let hop = Hop::new()
        .reasoning("Hmm")
        .text("Let me look. ")
        .tool_call("get", json!({"name": "bob"}))
        .tool_call_raw("empty", "now", "")
        .text("Done")
        .usage(7, 5);
    let server = serve(hop).await;
    let response = run(&server, &run_input()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let message = "run-1-message";
    let reasoning = "run-1-reasoning-1";
    let text =
        |delta: &str| json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta});
    assert_eq!(
        events(response).await,
        [
            json!({"type": "RUN_STARTED", "threadId": "thread-1", "runId": "run-1", "protocolVersion": "1.0"}),
            json!({"type": "REASONING_START", "messageId": reasoning}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": reasoning, "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": reasoning, "delta": "Hmm"}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": reasoning}),
            json!({"type": "REASONING_END", "messageId": reasoning}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}),
            text("Let "),
            text("me "),
            text("look. "),
            json!({"type": "TEXT_MESSAGE_END", "messageId": message}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "call_0_0", "toolCallName": "get", "parentMessageId": message}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "call_0_0", "delta": "{\"name\":\"bob"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "call_0_0", "delta": "\"}"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "call_0_0"}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "empty", "toolCallName": "now", "parentMessageId": message}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "empty"}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}),
            text("Done"),
            json!({"type": "TEXT_MESSAGE_END", "messageId": message}),
            json!({
                "type": "RUN_FINISHED",
                "threadId": "thread-1",
                "runId": "run-1",
                "usage": [{"inputTokens": 7, "outputTokens": 5, "totalTokens": 12}],
                "outcome": {"type": "success", "pendingToolCallIds": ["call_0_0", "empty"]},
            }),
        ]
    );
    let requests = server.requests();
    assert_eq!(requests[0].dialect, Some(Dialect::AgUi));
    assert_eq!(requests[0].body, run_input());
}

#[tokio::test]
async fn interleaved_calls_are_open_side_by_side() {
    let hop = Hop::new()
        .tool_call_raw("a", "f", "1")
        .tool_call_raw("b", "g", "2")
        .interleave();
    let events = events(run(&serve(hop).await, &run_input()).await).await;
    let seen: Vec<_> = events[1..events.len() - 1]
        .iter()
        .map(|event| {
            format!(
                "{} {}",
                event["type"].as_str().unwrap(),
                event["toolCallId"].as_str().unwrap()
            )
        })
        .collect();
    let expected = [
        "TOOL_CALL_START a",
        "TOOL_CALL_START b",
        "TOOL_CALL_ARGS a",
        "TOOL_CALL_ARGS b",
        "TOOL_CALL_END a",
        "TOOL_CALL_END b",
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn text_goes_on_over_a_frame_of_the_tests_own() {
    let custom = json!({"type": "CUSTOM", "name": "progress", "value": null});
    let hop = Hop::new().text("a").raw_frame(&custom).text("b");
    let events = events(run(&serve(hop).await, &run_input()).await).await;
    let types: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let expected = [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "CUSTOM",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ];
    assert_eq!(types, expected);
    assert_eq!(events[3], custom);
}

#[tokio::test]
async fn an_error_event_is_a_run_error_and_the_last_event() {
    let hop = Hop::new().text("a").error_event("The agent failed");
    let events = events(run(&serve(hop).await, &run_input()).await).await;
    assert_eq!(
        events.last(),
        Some(&json!({"type": "RUN_ERROR", "message": "The agent failed"}))
    );
    assert_eq!(events.len(), 4, "the open message is left open: {events:?}");
}

#[tokio::test]
async fn an_early_end_has_no_run_finished() {
    let events =
        events(run(&serve(Hop::new().text("a").end_early()).await, &run_input()).await).await;
    assert_eq!(events.last().unwrap()["type"], "TEXT_MESSAGE_CONTENT");
}

#[tokio::test]
async fn an_http_error_has_message_and_code() {
    let response = run(&serve(Hop::error(503, "Down")).await, &run_input()).await;
    assert_eq!(response.status(), 503);
    assert_eq!(
        json_of(response).await,
        json!({"message": "Down", "code": "http_503"})
    );
}

#[tokio::test]
async fn a_bad_run_input_is_refused() {
    let server = serve(Hop::new()).await;
    let with = |name: &str, value: Value| {
        let mut input = run_input();
        input[name] = value;
        input.to_string()
    };
    let assistant = json!({"id": "m2", "role": "assistant", "toolCalls": [
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    ]});
    let cases = [
        ("{".to_owned(), "not a JSON object"),
        (with("threadId", Value::Null), "threadId"),
        (with("runId", json!(1)), "runId"),
        (with("messages", Value::Null), "messages must be an array"),
        (
            with("messages", json!([{"role": "user", "content": ""}])),
            "messages[0].id",
        ),
        (
            with("messages", json!([{"id": "x", "role": "bot"}])),
            "messages[0].role",
        ),
        (
            with("messages", json!([{"id": "x", "role": "activity"}])),
            "never sent",
        ),
        (
            with("messages", json!([assistant])),
            "Tool call \"call_1\" of messages[0]",
        ),
    ];
    for (body, expected) in cases {
        let response = post(&server.ag_ui_url(), body).await;
        assert_eq!(response.status(), 400, "{expected}");
        let error = json_of(response).await;
        assert_eq!(error["code"], "invalid_request");
        assert!(
            error["message"].as_str().unwrap().contains(expected),
            "{error}"
        );
    }
    assert_eq!(server.failures().len(), 8);
}

#[tokio::test]
async fn a_resumed_run_may_leave_its_calls_open() {
    let server = start(Script::new().hop(Hop::new().text("Go on"))).await;
    let mut input = run_input();
    input["resume"] = json!([{"interruptId": "i1", "status": "resolved"}]);
    input["messages"].as_array_mut().unwrap().push(json!({
        "id": "m2", "role": "assistant", "toolCalls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ],
    }));
    assert_eq!(run(&server, &input).await.status(), 200);
}
