use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, MockLlm, Script};

use crate::client::{json_of, post, serve, start};

fn question() -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]})
}

fn url(server: &MockLlm) -> String {
    format!(
        "{}/models/gemini-x:streamGenerateContent?alt=sse",
        server.url(stepwell_mock_llm::Dialect::Gemini)
    )
}

/// The chunks of an answer to `body`.
async fn ask(server: &MockLlm, body: &Value) -> Vec<Value> {
    let response = post(&url(server), body.to_string()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.text().await.unwrap();
    let chunk = |frame: &str| serde_json::from_str(frame.strip_prefix("data: ")?).ok();
    text.split_terminator("\r\n\r\n")
        .map(|frame| chunk(frame).unwrap_or_else(|| panic!("no chunk: {frame:?}")))
        .collect()
}

fn parts(chunks: &[Value]) -> Vec<Value> {
    chunks
        .iter()
        .map(|chunk| chunk["candidates"][0]["content"]["parts"][0].clone())
        .collect()
}

#[tokio::test]
async fn an_answer_in_full() {
    let hop = Hop::new().text("Hello").usage(11, 4);
    let server = serve(hop).await;
    let response = post(&url(&server), question().to_string()).await;
    assert_eq!(
        response.text().await.unwrap(),
        concat!(
            r#"data: {"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"},"index":0}],"modelVersion":"mock","responseId":"response-0"}"#,
            "\r\n\r\n",
            r#"data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":4,"totalTokenCount":15},"modelVersion":"mock","responseId":"response-0"}"#,
            "\r\n\r\n",
        )
    );
}

#[tokio::test]
async fn calls_come_whole() {
    let hop = Hop::new()
        .reasoning("Hm")
        .tool_call("get", json!({"name": "alice in wonderland"}))
        .tool_call_with_id("a", "get", json!({}))
        .tool_call_with_id("b", "get", json!({"n": 1}))
        .tool_call_raw("call_0_3", "get", "")
        .interleave();
    let chunks = ask(&serve(hop).await, &question()).await;
    assert_eq!(
        parts(&chunks),
        [
            json!({"text": "Hm", "thought": true}),
            json!({"functionCall": {"name": "get", "args": {"name": "alice in wonderland"}}}),
            json!({"functionCall": {"name": "get", "args": {}, "id": "a"}, "thoughtSignature": "signature-a"}),
            json!({"functionCall": {"name": "get", "args": {"n": 1}, "id": "b"}}),
            json!({"functionCall": {"name": "get"}}),
            json!({"text": ""}),
        ]
    );
    let broken = Hop::new().tool_call_raw("x", "get", "{\"a\":");
    let chunks = ask(&serve(broken).await, &question()).await;
    assert_eq!(
        chunks[0]["candidates"][0]["finishReason"],
        "MALFORMED_FUNCTION_CALL"
    );
}

#[tokio::test]
async fn errors_have_the_form_of_the_service() {
    let hop = Hop::new().text("Hi").error_event("Busy");
    let chunks = ask(&serve(hop).await, &question()).await;
    assert_eq!(
        chunks.last().unwrap(),
        &json!({"error": {"code": 500, "message": "Busy", "status": "INTERNAL"}})
    );
    let server = serve(Hop::error(429, "Slow down")).await;
    let response = post(&url(&server), question().to_string()).await;
    assert_eq!(response.status(), 429);
    assert_eq!(
        json_of(response).await,
        json!({"error": {"code": 429, "message": "Slow down", "status": "RESOURCE_EXHAUSTED"}})
    );
}

#[tokio::test]
async fn illegal_requests_are_refused() {
    let server = start(Script::new().hop(Hop::new().text("Hi"))).await;
    let response = post(&url(&server), json!({"contents": []}).to_string()).await;
    assert_eq!(response.status(), 400);
    let no_stream = url(&server).replace("?alt=sse", "");
    let response = post(&no_stream, question().to_string()).await;
    assert_eq!(response.status(), 400);
    assert_eq!(server.failures().len(), 2);
    assert_eq!(
        ask(&server, &question()).await.len(),
        2,
        "the hop is still there"
    );
}
