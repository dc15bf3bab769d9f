//! How the model is told, in each format, that a tool has failed.

use crate::encode::{call, encode};
use serde_json::{Value, json};
use stepwell_core::dialect::{Endpoint, GenerationSettings};
use stepwell_core::provider;

fn endpoint(provider: &str, api: Option<&str>) -> Endpoint {
    provider::find(provider)
        .expect("a known provider")
        .endpoint(api, "m-1", Some("http://h"), None)
        .expect("complete")
}

/// The body of a request whose history has this result.
fn body(endpoint: &Endpoint, content: &Value, error: Option<&str>) -> Value {
    let mut result =
        json!({"id": "3", "role": "tool", "toolCallId": "abcdefghi", "content": content});
    if let Some(error) = error {
        result["error"] = json!(error);
    }
    let said = json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "toolCalls": [call("abcdefghi", "{}")]},
        result,
    ]);
    let settings = GenerationSettings::default();
    encode(endpoint, None, said, json!([]), &settings).2
}

/// The APIs that have no place for an error, and where the result is in their requests.
const WITHOUT_A_PLACE: [(&str, Option<&str>, &str); 8] = [
    ("openai", Some("chat"), "/messages/2/content"),
    ("openai", Some("responses"), "/input/2/output"),
    ("openrouter", Some("chat"), "/messages/2/content"),
    ("groq", None, "/messages/2/content"),
    ("ollama", Some("ollama-chat"), "/messages/2/content"),
    ("mistral", None, "/messages/2/content"),
    ("cohere", None, "/messages/2/content"),
    ("openai-compatible", Some("responses"), "/input/2/output"),
];

#[test]
fn an_error_cannot_be_taken_for_a_result() {
    // What the machine puts into the history: the message twice.
    let text = "division by zero";
    for (provider, api, place) in WITHOUT_A_PLACE {
        let endpoint = endpoint(provider, api);
        let failed = body(&endpoint, &json!(text), Some(text));
        let expected = json!(r#"{"error":"division by zero"}"#);
        assert_eq!(failed.pointer(place), Some(&expected), "{provider}");
        let succeeded = body(&endpoint, &json!(text), None);
        assert_eq!(succeeded.pointer(place), Some(&json!(text)), "{provider}");
    }
    let gemini = body(&endpoint("gemini", None), &json!(text), Some(text));
    let response = gemini.pointer("/contents/2/parts/0/functionResponse/response");
    assert_eq!(response, Some(&json!({"error": text})));
    let anthropic = body(&endpoint("anthropic", None), &json!(text), Some(text));
    assert_eq!(
        anthropic.pointer("/messages/2/content/0"),
        Some(&json!({
            "type": "tool_result", "tool_use_id": "abcdefghi", "is_error": true,
            "content": [{"type": "text", "text": text}],
        }))
    );
    let agent = body(&endpoint("ag-ui", None), &json!(text), Some(text));
    assert_eq!(agent.pointer("/messages/2/error"), Some(&json!(text)));
}

#[test]
fn what_a_failing_tool_gave_back_goes_along() {
    let told = |content: &Value, error| {
        let body = body(&endpoint("openai", Some("chat")), content, Some(error));
        body["messages"][2]["content"].as_str().map(str::to_owned)
    };
    let parts = json!([{"type": "text", "text": "a \"half\""}, {"type": "text", "text": "b"}]);
    for (content, error, expected) in [
        (json!(""), "broke", r#"{"error":"broke"}"#),
        (json!("it broke"), "broke", r#"{"error":"it broke"}"#),
        (
            json!("half"),
            "broke",
            r#"{"error":"broke","output":"half"}"#,
        ),
        (
            parts,
            "broke",
            r#"{"error":"broke","output":"a \"half\"\nb"}"#,
        ),
        (json!("half"), "", r#"{"error":"half"}"#),
        (
            json!(""),
            "",
            r#"{"error":"The tool failed and did not say why."}"#,
        ),
        // An object of the tool's own that says so.
        (
            json!(r#"{"error": "no", "code": 7}"#),
            "no",
            r#"{"error": "no", "code": 7}"#,
        ),
        (
            json!(r#"{"why": "no"}"#),
            "no",
            r#"{"error":"{\"why\": \"no\"}"}"#,
        ),
    ] {
        assert_eq!(told(&content, error).as_deref(), Some(expected));
    }
}
