use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, MockLlm};

use crate::client::{json_of, post, serve};

fn question() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "Hello"}]})
}

fn url(server: &MockLlm) -> String {
    format!(
        "{}/api/chat",
        server.url(stepwell_mock_llm::Dialect::Ollama)
    )
}

/// The lines of an answer.
async fn ask(server: &MockLlm) -> Vec<Value> {
    let response = post(&url(server), question().to_string()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    let text = response.text().await.unwrap();
    assert!(text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn an_answer_in_full() {
    let server = serve(Hop::new().text("Hello").usage(11, 4)).await;
    let response = post(&url(&server), question().to_string()).await;
    assert_eq!(
        response.text().await.unwrap(),
        concat!(
            r#"{"model":"m","created_at":"2023-11-14T22:13:20Z","message":{"role":"assistant","content":"Hello"},"done":false}"#,
            "\n",
            r#"{"model":"m","created_at":"2023-11-14T22:13:20Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":3000000,"load_duration":1000000,"prompt_eval_count":11,"prompt_eval_duration":1000000,"eval_count":4,"eval_duration":1000000}"#,
            "\n",
        )
    );
}

#[tokio::test]
async fn calls_come_whole() {
    let hop = Hop::new()
        .reasoning("Hm")
        .tool_call("get", json!({"name": "alice in wonderland"}))
        .tool_call_with_id("b", "get", json!({"n": 1}))
        .interleave();
    let lines = ask(&serve(hop).await).await;
    let messages: Vec<_> = lines.iter().map(|line| line["message"].clone()).collect();
    let calls = |call: Value| json!({"role": "assistant", "content": "", "tool_calls": [call]});
    assert_eq!(
        messages[..3],
        [
            json!({"role": "assistant", "content": "", "thinking": "Hm"}),
            calls(
                json!({"function": {"index": 0, "name": "get", "arguments": {"name": "alice in wonderland"}}})
            ),
            calls(
                json!({"id": "b", "function": {"index": 1, "name": "get", "arguments": {"n": 1}}})
            ),
        ]
    );
    let broken = Hop::new()
        .tool_call_raw("x", "get", "{\"a\":")
        .text("never");
    let lines = ask(&serve(broken).await).await;
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0]["error"]
            .as_str()
            .unwrap()
            .starts_with("error parsing tool call")
    );
}

#[tokio::test]
async fn a_request_that_does_not_stream_gets_one_object() {
    let hop = Hop::new()
        .reasoning("Hm")
        .text("Hi")
        .tool_call("f", json!({}))
        .usage(1, 2);
    let server = serve(hop).await;
    let mut body = question();
    body["stream"] = false.into();
    let answer = json_of(post(&url(&server), body.to_string()).await).await;
    assert_eq!(
        answer["message"],
        json!({
            "role": "assistant", "content": "Hi", "thinking": "Hm",
            "tool_calls": [{"function": {"index": 0, "name": "f", "arguments": {}}}]
        })
    );
    assert_eq!(
        (&answer["done"], &answer["eval_count"]),
        (&json!(true), &json!(2))
    );
}

#[tokio::test]
async fn errors_have_the_form_of_the_server() {
    let lines = ask(&serve(Hop::new().text("Hi").error_event("Busy")).await).await;
    assert_eq!(lines.last().unwrap(), &json!({"error": "Busy"}));
    let server = serve(Hop::new()).await;
    let response = post(&url(&server), json!({"messages": []}).to_string()).await;
    assert_eq!(response.status(), 400);
    assert_eq!(
        json_of(response).await,
        json!({"error": "model is required"})
    );
}
