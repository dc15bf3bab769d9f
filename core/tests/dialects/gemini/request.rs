use super::support::{body, encode, messages};
use serde_json::{Map, Value, json};
use stepwell_core::dialect::{
    CacheLifetime, GenerationSettings, ReasoningEffort, ResponseFormat, ToolChoice,
};

const MODEL: &str = "gemini-2.5-flash";

fn hello() -> Value {
    json!([{"id": "1", "role": "user", "content": "Hi"}])
}

fn with(model: &str, settings: &GenerationSettings) -> Value {
    let tools = json!([{"name": "add", "description": ""}]);
    body(&encode(model, None, &messages(hello()), tools, settings))
}

#[test]
fn a_plain_request_in_full() {
    let request = encode(
        MODEL,
        Some("Be brief."),
        &messages(hello()),
        json!([]),
        &GenerationSettings::default(),
    );
    assert_eq!(request.method, "POST");
    assert_eq!(
        request.url,
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    );
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
        ]
    );
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#
    );
}

#[test]
fn everything_that_can_be_asked_for_in_full() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}});
    let settings = GenerationSettings {
        context: Vec::new(),
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        tool_choice: ToolChoice::Named("add".to_owned()),
        parallel_tool_calls: Some(false),
        response_format: ResponseFormat::Schema {
            name: "n".to_owned(),
            schema: schema.clone(),
            strict: true,
        },
        reasoning: Some(ReasoningEffort::Low),
        user: None,
        cache_prompt: Some(CacheLifetime::FiveMinutes),
        extra: Map::from_iter([
            ("serviceTier".to_owned(), json!("flex")),
            (
                "generationConfig".to_owned(),
                json!({"topP": 0.9, "temperature": 0.7}),
            ),
        ]),
    };
    let tools = json!([
        {"name": "add", "description": "Adds.", "parameters": schema},
        {"name": "now", "description": ""},
    ]);
    assert_eq!(
        body(&encode(MODEL, None, &messages(hello()), tools, &settings)),
        json!({
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "tools": [{"functionDeclarations": [
                {"name": "add", "description": "Adds.", "parametersJsonSchema": schema},
                {"name": "now"},
            ]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}},
            "generationConfig": {
                "temperature": 0.7, "maxOutputTokens": 100, "responseMimeType": "application/json",
                "responseJsonSchema": schema,
                "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 1024},
                "topP": 0.9
            },
            "serviceTier": "flex"
        })
    );
}

#[test]
fn the_choice_of_tools() {
    let config = |choice| {
        let settings = GenerationSettings {
            tool_choice: choice,
            ..GenerationSettings::default()
        };
        with(MODEL, &settings)["toolConfig"]["functionCallingConfig"].clone()
    };
    assert_eq!(config(ToolChoice::Auto), Value::Null);
    assert_eq!(config(ToolChoice::None), json!({"mode": "NONE"}));
    assert_eq!(config(ToolChoice::Required), json!({"mode": "ANY"}));
}

#[test]
fn each_generation_has_its_own_words_for_thinking() {
    let config = |model, effort| {
        let settings = GenerationSettings {
            reasoning: effort,
            ..GenerationSettings::default()
        };
        with(model, &settings)["generationConfig"]["thinkingConfig"].clone()
    };
    assert_eq!(config(MODEL, None), Value::Null);
    assert_eq!(
        config(MODEL, Some(ReasoningEffort::Off)),
        json!({"includeThoughts": false, "thinkingBudget": 0})
    );
    assert_eq!(
        config("gemini-3-flash-preview", Some(ReasoningEffort::High)),
        json!({"includeThoughts": true, "thinkingLevel": "high"})
    );
    assert_eq!(
        config("gemini-3-flash-preview", Some(ReasoningEffort::Off)),
        json!({"includeThoughts": false, "thinkingLevel": "minimal"})
    );
}

#[test]
fn json_without_a_schema() {
    let settings = GenerationSettings {
        response_format: ResponseFormat::Json,
        ..GenerationSettings::default()
    };
    assert_eq!(
        with(MODEL, &settings)["generationConfig"],
        json!({"responseMimeType": "application/json"})
    );
}
