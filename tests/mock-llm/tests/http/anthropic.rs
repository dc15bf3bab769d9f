use serde_json::{Value, json};
use stepwell_mock_llm::{Dialect, Hop, MockLlm, Script};

use crate::client::{json_of, post, serve, start};

fn question() -> Value {
    json!({
        "model": "test-model", "max_tokens": 100, "stream": true,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
    })
}

async fn ask(server: &MockLlm, body: &Value) -> reqwest::Response {
    post(&format!("{}/messages", server.base_url()), body.to_string()).await
}

/// The events of an answer; each has its type as its name.
async fn events(response: reqwest::Response) -> Vec<Value> {
    let text = response.text().await.expect("the body comes whole");
    let frames = text.strip_suffix("\n\n").expect("a blank line at the end");
    let event = |frame: &str| {
        let (name, data) = frame.split_once("\ndata: ").expect("a name and data");
        let event: Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(name.strip_prefix("event: "), event["type"].as_str());
        event
    };
    frames.split("\n\n").map(event).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "the calls read better")]
fn delta(index: u32, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

#[tokio::test]
async fn text_comes_in_the_bytes_of_the_service() {
    let server = serve(Hop::new().text("Hello, world").usage(11, 4)).await;
    let response = ask(&server, &question()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    let usage = |input: u32, output: u32| {
        format!(
            "{{\"input_tokens\":{input},\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":{output}}}"
        )
    };
    let expected = format!(
        "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"msg_0\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"test-model\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{}}}}}\n\n\
         event: ping\ndata: {{\"type\":\"ping\"}}\n\n\
         event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n\
         event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"Hello, \"}}}}\n\n\
         event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"world\"}}}}\n\n\
         event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
         event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\",\"stop_sequence\":null}},\"usage\":{}}}\n\n\
         event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n",
        usage(0, 0),
        usage(11, 4)
    );
    assert_eq!(response.text().await.unwrap(), expected);
    assert_eq!(server.requests()[0].dialect, Some(Dialect::Anthropic));
}

#[tokio::test]
async fn thinking_text_and_mixed_calls_are_blocks_of_one_stream() {
    let hop = Hop::new()
        .reasoning("Two people")
        .text("Look. ")
        .tool_call("get", json!({"name": "alice"}))
        .tool_call_with_id("mine", "get", json!({}))
        .interleave();
    let events = events(ask(&serve(hop).await, &question()).await).await;
    let input = |index: u32, piece: &str| {
        delta(
            index,
            json!({"type": "input_json_delta", "partial_json": piece}),
        )
    };
    let start = |index: u32, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: u32| json!({"type": "content_block_stop", "index": index});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "get", "input": {}});
    let signature = events[5]["delta"]["signature"].as_str().unwrap();
    assert!(!signature.is_empty());
    assert_eq!(
        events[2..events.len() - 2],
        [
            start(
                0,
                json!({"type": "thinking", "thinking": "", "signature": ""})
            ),
            delta(0, json!({"type": "thinking_delta", "thinking": "Two "})),
            delta(0, json!({"type": "thinking_delta", "thinking": "people"})),
            delta(
                0,
                json!({"type": "signature_delta", "signature": signature})
            ),
            stop(0),
            start(1, json!({"type": "text", "text": ""})),
            delta(1, json!({"type": "text_delta", "text": "Look. "})),
            stop(1),
            start(2, call("call_0_0")),
            input(2, ""),
            start(3, call("mine")),
            input(3, ""),
            input(2, r#"{"name":"ali"#),
            input(3, "{}"),
            input(2, r#"ce"}"#),
            stop(2),
            stop(3),
        ]
    );
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "tool_use");
}

#[tokio::test]
async fn an_answer_may_come_whole() {
    let mut body = question();
    body["stream"] = false.into();
    let hop = Hop::new()
        .reasoning("Hm")
        .text("Hi")
        .tool_call("f", json!({"x": 1}))
        .usage(3, 4);
    let answer = json_of(ask(&serve(hop).await, &body).await).await;
    assert_eq!(answer["content"][0]["thinking"], "Hm");
    assert_eq!(
        answer["content"].as_array().unwrap()[1..],
        [
            json!({"type": "text", "text": "Hi"}),
            json!({"type": "tool_use", "id": "call_0_0", "name": "f", "input": {"x": 1}}),
        ]
    );
    assert_eq!(answer["stop_reason"], "tool_use");
    assert_eq!(answer["usage"]["output_tokens"], 4);
}

#[tokio::test]
async fn errors_have_the_services_shape() {
    let script = Script::new()
        .hop(Hop::error(529, "Overloaded"))
        .hop(Hop::error(429, "Slow down").header("retry-after", "1"))
        .hop(Hop::new().text("Hi").error_event("Sorry"));
    let server = start(script).await;
    let error = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_mock"});
    let response = ask(&server, &question()).await;
    assert_eq!(response.status(), 529);
    assert_eq!(
        json_of(response).await,
        error("overloaded_error", "Overloaded")
    );
    let response = ask(&server, &question()).await;
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(
        json_of(response).await,
        error("rate_limit_error", "Slow down")
    );
    let events = events(ask(&server, &question()).await).await;
    assert_eq!(events.last(), Some(&error("api_error", "Sorry")));
}

#[tokio::test]
async fn a_request_that_the_service_refuses_is_refused_in_its_words() {
    let server = serve(Hop::new().text("Hi")).await;
    let mut body = question();
    body["messages"].as_array_mut().unwrap().push(
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}),
    );
    let response = ask(&server, &body).await;
    assert_eq!(response.status(), 400);
    let error = json_of(response).await;
    assert_eq!(error["error"]["type"], "invalid_request_error");
    assert!(
        error["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("messages.1: `tool_use` ids were found")
    );
    assert_eq!(server.failures().len(), 1, "{:?}", server.failures());
}

#[tokio::test]
async fn a_script_that_repeats_counts_answers_by_the_results() {
    let script = Script::new()
        .hop(Hop::new().tool_call("f", json!({})))
        .hop(Hop::new().text("Done"))
        .repeat();
    let server = start(script).await;
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "call_0_0", "name": "f", "input": {}}]});
    let result = json!({"type": "tool_result", "tool_use_id": "call_0_0", "content": "1"});
    for (content, id) in [
        (json!([result]), "msg_1"),
        (json!([result, {"type": "text", "text": "And?"}]), "msg_1"),
    ] {
        let mut body = question();
        let messages = body["messages"].as_array_mut().unwrap();
        messages.extend([call.clone(), json!({"role": "user", "content": content})]);
        let events = events(ask(&server, &body).await).await;
        assert_eq!(events[0]["message"]["id"], id);
    }
    let last = &server.requests()[1];
    assert_eq!(last.path, "/v1/messages");
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}
