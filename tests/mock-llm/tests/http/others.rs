//! The dialects that are close to another: Mistral's and Cohere's chat.

use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, MockLlm, Script};

use crate::client::{json_of, post, question, serve, start};

async fn mistral(server: &MockLlm, body: &Value) -> reqwest::Response {
    let url = format!(
        "{}/chat/completions",
        server.url(stepwell_mock_llm::Dialect::Mistral)
    );
    post(&url, body.to_string()).await
}

async fn cohere(server: &MockLlm, body: &Value) -> reqwest::Response {
    let url = format!("{}/chat", server.url(stepwell_mock_llm::Dialect::Cohere));
    post(&url, body.to_string()).await
}

fn hop() -> Hop {
    Hop::new()
        .reasoning("Hm")
        .text("Look")
        .tool_call("f", json!({"a": 1}))
        .usage(3, 2)
}

/// The JSON of each `data:` line.
async fn data(response: reqwest::Response) -> Vec<Value> {
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[tokio::test]
async fn cohere_streams_events_named_by_their_type() {
    let server = serve(hop()).await;
    let body = cohere(&server, &question()).await.text().await.unwrap();
    assert!(body.starts_with("event: message-start\ndata: {"), "{body}");
    assert!(body.ends_with("}\n\ndata: [DONE]\n\n"), "{body}");
    let server = serve(hop()).await;
    let kinds: Vec<_> = data(cohere(&server, &question()).await)
        .await
        .iter()
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "message-start",
            "content-start",
            "content-delta",
            "content-end",
            "content-start",
            "content-delta",
            "content-end",
            "tool-call-start",
            "tool-call-delta",
            "tool-call-end",
            "message-end",
        ]
    );
    assert!(server.failures().is_empty());
}

#[tokio::test]
async fn mistral_thinks_in_parts_and_gives_short_ids() {
    let server = serve(hop()).await;
    let chunks = data(mistral(&server, &question()).await).await;
    let delta = |index: usize| &chunks[index]["choices"][0]["delta"];
    assert_eq!(
        delta(1)["content"],
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}])
    );
    assert_eq!(delta(2)["content"], "Look");
    assert_eq!(delta(3)["tool_calls"][0]["id"], "c00000000");
    let last = chunks.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(last["usage"]["total_tokens"], 5);
}

#[tokio::test]
async fn both_answer_whole_and_fail_in_their_own_shape() {
    let mut question = question();
    question["stream"] = false.into();
    let script = || Script::new().hop(hop()).hop(Hop::error(429, "Slow down"));
    let server = start(script()).await;
    let whole = json_of(cohere(&server, &question).await).await;
    assert_eq!(whole["finish_reason"], "TOOL_CALL");
    assert_eq!(whole["message"]["content"][1]["text"], "Look");
    let error = json_of(cohere(&server, &question).await).await;
    assert_eq!(error["message"], "Slow down");

    let server = start(script()).await;
    let whole = json_of(mistral(&server, &question).await).await;
    assert_eq!(whole["choices"][0]["message"]["content"][1]["text"], "Look");
    let error = json_of(mistral(&server, &question).await).await;
    assert_eq!(
        (&error["object"], &error["type"]),
        (&json!("error"), &json!("rate_limited"))
    );
}

#[tokio::test]
async fn what_openai_takes_they_may_refuse() {
    let mut question = question();
    question["stream_options"] = json!({"include_usage": true});
    let server = serve(hop()).await;
    let refused = cohere(&server, &question).await;
    assert_eq!(refused.status(), 400);
    let message = json_of(refused).await["message"].take();
    assert!(message.as_str().unwrap().starts_with("invalid request: "));
    assert_eq!(mistral(&server, &question).await.status(), 422);
    assert_eq!(server.failures().len(), 2);
}
