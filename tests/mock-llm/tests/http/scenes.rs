//! Other answers, by a word in the user's message.

use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, MockLlm, Script};

use crate::client::{events, post, start};

fn script() -> Script {
    Script::new()
        .hop(Hop::new().text("Any other."))
        .scene(
            "weather",
            [Hop::new().text("Sunny."), Hop::new().text("Still sunny.")],
        )
        .scene("wind", [Hop::new().text("Windy.")])
}

async fn chat(server: &MockLlm, messages: Value) -> String {
    let body = json!({"model": "m", "stream": true, "messages": messages});
    let url = format!("{}/chat/completions", server.base_url());
    let chunks = events(post(&url, body.to_string()).await).await;
    let texts = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    texts.collect()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[tokio::test]
async fn the_last_user_message_chooses_the_scene() {
    let server = start(script()).await;
    for (question, answer) in [
        ("Hello", "Any other."),
        ("How is the WEATHER?", "Sunny."),
        ("Is there wind, or weather?", "Sunny."),
        ("rewind weathers", "Any other."),
    ] {
        assert_eq!(
            chat(&server, json!([user(question)])).await,
            answer,
            "{question}"
        );
    }
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}},
    ]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "wind"});
    let second = json!([user("wind"), user("weather"), call, result]);
    assert_eq!(chat(&server, second).await, "Still sunny.");
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn a_scene_is_chosen_in_other_dialects_and_from_json() {
    let json = r#"{"hops": [{"steps": [{"text": "Any other."}]}], "scenes": [
        {"keyword": "weather", "hops": [{"steps": [{"text": "Sunny."}]}]}]}"#;
    let server = start(Script::from_json(json).expect("a script")).await;
    let gemini = format!(
        "{}/models/m:streamGenerateContent?alt=sse",
        server.url(stepwell_mock_llm::Dialect::Gemini)
    );
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "The weather?"}]}]});
    let answer = post(&gemini, body.to_string()).await.text().await;
    let answer = answer.expect("the body comes whole");
    assert!(answer.contains("Sunny"), "{answer}");
    assert!(Script::from_json(r#"{"hops": [], "scenes": [{"keyword": "a"}]}"#).is_err());
}
