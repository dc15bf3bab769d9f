//! The prompt cache: one setting for all providers that can be asked for it.

use serde_json::{Value, json};
use stepwell_core::Timestamp;
use stepwell_core::dialect::{
    CacheLifetime, Endpoint, GenerationSettings, HopIds, ModelRequest, Secret,
};
use stepwell_core::event::{Message, Metadata};
use stepwell_core::provider;

fn endpoint(name: &str, api: Option<&str>, model: &str) -> Endpoint {
    let provider = provider::find(name).expect("a known provider");
    let key = Some(Secret::from("k"));
    provider.endpoint(api, model, None, key).expect("complete")
}

fn body_of(endpoint: &Endpoint, thread: &str, settings: &GenerationSettings) -> Value {
    let tool = json!([{"name": "f", "description": "F.", "parameters": {"type": "object", "properties": {}}}]);
    let tools: Vec<_> = serde_json::from_value(tool).expect("tools");
    let ids = HopIds {
        thread_id: thread.into(),
        ..HopIds::default()
    };
    let request = ModelRequest {
        endpoint,
        ids: &ids,
        parent_run_id: None,
        instructions: Some("Be brief."),
        messages: &[&Message::user("1", "Hi")],
        tools: &tools,
        state: &Value::Null,
        settings,
        resume: &[],
        compact_above: None,
        now: Timestamp(0),
    };
    serde_json::from_slice(&request.to_http().body).expect("JSON")
}

fn body(endpoint: &Endpoint, lifetime: Option<CacheLifetime>) -> Value {
    let settings = GenerationSettings {
        cache_prompt: lifetime,
        ..GenerationSettings::default()
    };
    body_of(endpoint, "thread", &settings)
}

/// The marks in a request.
fn marks(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match &**name {
                "cache_control" => vec![value.clone()],
                _ => marks(value),
            })
            .collect(),
        Value::Array(values) => values.iter().flat_map(marks).collect(),
        _ => Vec::new(),
    }
}

const FIVE: Option<CacheLifetime> = Some(CacheLifetime::FiveMinutes);
const HOUR: Option<CacheLifetime> = Some(CacheLifetime::OneHour);

#[test]
fn marks_have_the_lifetime() {
    for (endpoint, count) in [
        (endpoint("anthropic", None, "claude-sonnet-4-5"), 3),
        (
            endpoint("openrouter", None, "anthropic/claude-sonnet-4.5"),
            2,
        ),
        (
            endpoint(
                "openrouter",
                Some("messages"),
                "anthropic/claude-sonnet-4.5",
            ),
            3,
        ),
    ] {
        let all = |lifetime| marks(&body(&endpoint, lifetime));
        assert_eq!(all(None), Vec::<Value>::new());
        assert_eq!(all(FIVE), vec![json!({"type": "ephemeral"}); count]);
        assert_eq!(
            all(HOUR),
            vec![json!({"type": "ephemeral", "ttl": "1h"}); count]
        );
    }
}

#[test]
fn openai_gets_a_key_and_the_field_that_its_model_has() {
    for api in ["chat", "responses"] {
        for (model, field, value) in [
            ("gpt-4o", None, Value::Null),
            ("gpt-4.1", Some("prompt_cache_retention"), json!("24h")),
            ("gpt-4.1-mini", None, Value::Null),
            ("gpt-5", Some("prompt_cache_retention"), json!("24h")),
            ("gpt-5-mini", None, Value::Null),
            ("gpt-5.2", Some("prompt_cache_retention"), json!("24h")),
            (
                "gpt-5.6-sol",
                Some("prompt_cache_options"),
                json!({"ttl": "12h"}),
            ),
        ] {
            let endpoint = endpoint("openai", Some(api), model);
            let fields = |lifetime| {
                let body = body(&endpoint, lifetime);
                let fields = body.as_object().expect("an object").iter();
                let cache = fields.filter(|(name, _)| name.starts_with("prompt_cache"));
                cache
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(fields(None), [], "{model}");
            // Pinned: with another key the prompts of a conversation are not found again.
            let key = (
                "prompt_cache_key".to_owned(),
                json!("73c2bc530a6fa105df6b5a713710cc8d"),
            );
            assert_eq!(fields(FIVE), std::slice::from_ref(&key), "{model}");
            let expected: Vec<_> = [key]
                .into_iter()
                .chain(field.map(|name| (name.to_owned(), value)))
                .collect();
            assert_eq!(fields(HOUR), expected, "{model}");
        }
    }
}

#[test]
fn each_conversation_has_its_key() {
    let mistral = endpoint("mistral", None, "mistral-large-latest");
    let settings = GenerationSettings {
        cache_prompt: HOUR,
        ..GenerationSettings::default()
    };
    let key = |thread| body_of(&mistral, thread, &settings)["prompt_cache_key"].clone();
    assert!(
        key("ada@example.com")
            .as_str()
            .is_some_and(|key| !key.contains("ada"))
    );
    assert_eq!(key("a"), key("a"));
    assert_ne!(key("a"), key("b"));
    assert_eq!(key(""), Value::Null);
}

#[test]
fn other_providers_get_no_field() {
    for (name, api) in [
        ("gemini", None),
        ("cohere", None),
        ("groq", None),
        ("together", None),
        ("fireworks", None),
        ("nvidia", None),
        ("ollama", None),
        ("ollama", Some("chat")),
        ("openrouter", Some("responses")),
    ] {
        let endpoint = endpoint(name, api, "m");
        assert_eq!(body(&endpoint, HOUR), body(&endpoint, None), "{name}");
    }
}

#[test]
fn geminis_cache_by_name_has_the_instructions_and_the_tools() {
    let gemini = endpoint("gemini", None, "gemini-2.5-flash");
    let settings = GenerationSettings {
        extra: Metadata::from_iter([("cachedContent".to_owned(), json!("cachedContents/1"))]),
        ..GenerationSettings::default()
    };
    let body = body_of(&gemini, "thread", &settings);
    let names: Vec<_> = body.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["contents", "cachedContent"]);
}
