use super::support::{encode, endpoint, input};
use serde_json::{Value, json};
use stepwell_core::dialect::{
    Dialect, EventPosition, GenerationSettings, HttpRequest, ReasoningEffort, ResponseFormat,
    StoredRequest, ToolChoice,
};
use stepwell_core::event::Message;

const ADDRESS: &str = "https://generativelanguage.googleapis.com/v1beta/interactions";

fn messages(messages: Value) -> Vec<Message> {
    serde_json::from_value(messages).expect("AG-UI messages")
}

fn hello() -> Vec<Message> {
    messages(json!([{"id": "1", "role": "user", "content": "Hi"}]))
}

fn body(request: &HttpRequest) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

fn with(settings: &GenerationSettings) -> Value {
    let tools = json!([{"name": "add", "description": "Adds.", "parameters": {"type": "object"}}]);
    body(&encode(
        &endpoint("gemini-3-flash"),
        None,
        &hello(),
        tools,
        settings,
    ))
}

#[test]
fn a_plain_request_in_full() {
    let settings = GenerationSettings::default();
    let endpoint = endpoint("gemini-3-flash");
    let request = encode(&endpoint, Some("Be brief."), &hello(), json!([]), &settings);
    assert_eq!((request.method, &*request.url), ("POST", ADDRESS));
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        headers,
        [
            ("x-goog-api-key", "k"),
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
            ("api-revision", "2026-05-20"),
        ]
    );
    assert_eq!(
        body(&request),
        json!({
            "model": "gemini-3-flash", "stream": true, "store": false, "system_instruction": "Be brief.",
            "input": [{"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}],
        })
    );
}

#[test]
fn a_request_in_the_background_is_stored() {
    let endpoint = endpoint("gemini-3-flash").in_background().expect("it can");
    let settings = GenerationSettings::default();
    let body = body(&encode(&endpoint, None, &hello(), json!([]), &settings));
    assert_eq!(
        (&body["background"], &body["store"]),
        (&json!(true), &json!(true))
    );
    let after = EventPosition::Id("CAE/=&".into());
    let stored = |request| {
        let encoder = Dialect::GeminiInteractions.encoder();
        let request = encoder
            .encode_stored(&endpoint, request)
            .expect("it has such");
        assert!(request.body.is_empty());
        let has = |name: &str| request.headers.iter().any(|(header, _)| header == name);
        assert!(has("api-revision") && has("x-goog-api-key") && !has("content-type"));
        let path = request
            .url
            .strip_prefix(ADDRESS)
            .expect("the address")
            .to_owned();
        format!("{} {path}", request.method)
    };
    assert_eq!(
        stored(StoredRequest::Stream {
            id: "v1_a/b",
            after: &after
        }),
        "GET /v1_a%2Fb?stream=true&last_event_id=CAE%2F%3D%26"
    );
    assert_eq!(stored(StoredRequest::Read { id: "v1_1" }), "GET /v1_1");
    assert_eq!(
        stored(StoredRequest::Cancel { id: "v1_1" }),
        "POST /v1_1/cancel"
    );
}

#[test]
fn settings_have_their_places() {
    let settings = GenerationSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(64),
        reasoning: Some(ReasoningEffort::Medium),
        response_format: ResponseFormat::Schema {
            name: "a".to_owned(),
            schema: json!({"type": "object"}),
            strict: true,
        },
        ..GenerationSettings::default()
    };
    let body = with(&settings);
    assert_eq!(
        body["generation_config"],
        json!({"temperature": 0.5, "max_output_tokens": 64, "thinking_level": "medium",
            "thinking_summaries": "auto"})
    );
    assert_eq!(
        body["response_format"],
        json!({"type": "text", "mime_type": "application/json", "schema": {"type": "object"}})
    );
    assert_eq!(
        body["tools"],
        json!([{"type": "function", "name": "add", "description": "Adds.", "parameters": {"type": "object"}}])
    );
}

#[test]
fn the_choice_of_tools_is_a_word_or_a_list() {
    for (choice, expected) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("any")),
        (
            ToolChoice::Named("add".to_owned()),
            json!({"allowed_tools": {"mode": "any", "tools": ["add"]}}),
        ),
    ] {
        let settings = GenerationSettings {
            tool_choice: choice,
            ..GenerationSettings::default()
        };
        assert_eq!(
            with(&settings)["generation_config"]["tool_choice"],
            expected
        );
    }
}

#[test]
fn the_apps_own_fields_win_and_add() {
    let extra = json!({"previous_interaction_id": "v1_0", "store": true,
        "tools": [{"type": "google_search"}], "generation_config": {"top_p": 0.5, "temperature": 1.0}});
    let settings = GenerationSettings {
        temperature: Some(0.5),
        extra: serde_json::from_value(extra).expect("fields"),
        ..GenerationSettings::default()
    };
    let body = with(&settings);
    assert_eq!(body["previous_interaction_id"], "v1_0");
    assert_eq!(body["store"], true);
    assert_eq!(body["tools"][1], json!({"type": "google_search"}));
    assert_eq!(
        body["generation_config"],
        json!({"temperature": 1.0, "top_p": 0.5})
    );
}

#[test]
fn results_are_text_or_content() {
    let said = json!([
        {"id": "1", "role": "user", "content": [
            {"type": "text", "text": "See"},
            {"type": "image", "source": {"type": "data", "value": "aa==", "mimeType": "image/png"}},
            {"type": "document", "source": {"type": "url", "value": "https://a.b/c.pdf"}},
        ]},
        {"id": "2", "role": "assistant", "toolCalls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
            {"id": "b", "type": "function", "function": {"name": "f", "arguments": ""}},
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}},
        ]},
        {"id": "3", "role": "tool", "toolCallId": "a", "content": "{\"y\":2}"},
        {"id": "4", "role": "tool", "toolCallId": "b", "content": "", "error": "no"},
        {"id": "5", "role": "tool", "toolCallId": "c", "content": [
            {"type": "text", "text": "Look"},
            {"type": "image", "source": {"type": "data", "value": "bb==", "mimeType": "image/png"}},
        ]},
    ]);
    let input = input("gemini-3-flash", &messages(said));
    assert_eq!(
        input[0]["content"],
        json!([
            {"type": "text", "text": "See"},
            {"type": "image", "data": "aa==", "mime_type": "image/png"},
            {"type": "document", "uri": "https://a.b/c.pdf"},
        ])
    );
    assert_eq!(input[1]["arguments"], json!({"x": 1}));
    assert_eq!(
        [&input[4], &input[5], &input[6]],
        [
            &json!({"type": "function_result", "call_id": "a", "name": "f", "result": "{\"y\":2}"}),
            &json!({"type": "function_result", "call_id": "b", "name": "f", "result": "no", "is_error": true}),
            &json!({"type": "function_result", "call_id": "c", "name": "f", "result": [
                {"type": "text", "text": "Look"},
                {"type": "image", "data": "bb==", "mime_type": "image/png"},
            ]}),
        ]
    );
}
