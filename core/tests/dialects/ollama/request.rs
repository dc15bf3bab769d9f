use serde_json::{Map, Value, json};
use stepwell_core::dialect::{
    CacheLifetime, Dialect, GenerationSettings, HttpRequest, ModelRequest, ReasoningEffort,
    ResponseFormat, Secret, ToolChoice,
};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::provider;

fn encode(
    key: Option<&str>,
    model: &str,
    messages: Value,
    tools: Value,
    settings: &GenerationSettings,
) -> HttpRequest {
    let endpoint = provider::find("ollama")
        .expect("a known provider")
        .endpoint(None, model, None, key.map(Secret::from))
        .expect("complete");
    let messages: Vec<Message> = serde_json::from_value(messages).expect("AG-UI messages");
    let tools: Vec<ToolDefinition> = serde_json::from_value(tools).expect("AG-UI tools");
    Dialect::Ollama.encoder().encode(&ModelRequest {
        endpoint: &endpoint,
        ids: &crate::decoding::ids(Dialect::Ollama),
        parent_run_id: None,
        instructions: Some("Be brief."),
        messages: &messages.iter().collect::<Vec<_>>(),
        tools: &tools,
        state: &Value::Null,
        settings,
        resume: &[],
        compact_above: None,
        now: stepwell_core::Timestamp(0),
    })
}

fn body(request: &HttpRequest) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

fn with(model: &str, settings: &GenerationSettings) -> Value {
    let tools =
        json!([{"name": "add", "description": ""}, {"name": "now", "description": "Time."}]);
    let hello = json!([{"id": "1", "role": "user", "content": "Hi"}]);
    body(&encode(None, model, hello, tools, settings))
}

#[test]
fn a_plain_request_in_full() {
    let hello = json!([{"id": "1", "role": "user", "content": "Hi"}]);
    let settings = GenerationSettings::default();
    let request = encode(None, "qwen3", hello.clone(), json!([]), &settings);
    assert_eq!(request.method, "POST");
    assert_eq!(request.url, "http://localhost:11434/api/chat");
    assert_eq!(
        request.headers,
        [
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "application/x-ndjson".to_owned()),
        ]
    );
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        r#"{"model":"qwen3","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"stream":true}"#
    );
    let request = encode(Some("k"), "qwen3", hello, json!([]), &settings);
    assert_eq!(
        request.headers[0],
        ("authorization".to_owned(), "Bearer k".to_owned())
    );
}

#[test]
fn everything_that_can_be_asked_for_in_full() {
    let schema = json!({"type": "object"});
    let settings = GenerationSettings {
        context: Vec::new(),
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        tool_choice: ToolChoice::Required,
        parallel_tool_calls: Some(false),
        response_format: ResponseFormat::Schema {
            name: "n".to_owned(),
            schema: schema.clone(),
            strict: true,
        },
        reasoning: Some(ReasoningEffort::High),
        user: None,
        cache_prompt: Some(CacheLifetime::FiveMinutes),
        extra: Map::from_iter([
            ("keep_alive".to_owned(), json!("5m")),
            (
                "options".to_owned(),
                json!({"num_ctx": 8192, "temperature": 0}),
            ),
        ]),
    };
    assert_eq!(
        with("qwen3", &settings),
        json!({
            "model": "qwen3",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
            "tools": [
                {"type": "function", "function": {"name": "add", "description": "", "parameters": {"type": "object", "properties": {}}}},
                {"type": "function", "function": {"name": "now", "description": "Time.", "parameters": {"type": "object", "properties": {}}}},
            ],
            "stream": true, "think": true, "format": schema,
            "options": {"temperature": 0, "num_predict": 100, "num_ctx": 8192},
            "keep_alive": "5m"
        })
    );
}

#[test]
fn a_choice_of_tools_is_a_choice_of_what_is_offered() {
    let offered = |choice| {
        let settings = GenerationSettings {
            tool_choice: choice,
            ..GenerationSettings::default()
        };
        let tools = with("qwen3", &settings)["tools"].take();
        tools.as_array().map(|tools| {
            tools
                .iter()
                .map(|tool| tool["function"]["name"].clone())
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(offered(ToolChoice::Auto).unwrap(), ["add", "now"]);
    assert_eq!(offered(ToolChoice::Required).unwrap(), ["add", "now"]);
    assert_eq!(
        offered(ToolChoice::Named("now".to_owned())).unwrap(),
        ["now"]
    );
    assert_eq!(offered(ToolChoice::None), None);
}

#[test]
fn thinking_is_a_word_for_gpt_oss_alone() {
    let think = |model, effort| {
        let settings = GenerationSettings {
            reasoning: effort,
            response_format: ResponseFormat::Json,
            ..GenerationSettings::default()
        };
        let body = with(model, &settings);
        assert_eq!(body["format"], "json");
        body["think"].clone()
    };
    assert_eq!(think("qwen3", None), Value::Null);
    assert_eq!(think("qwen3", Some(ReasoningEffort::Off)), json!(false));
    assert_eq!(think("qwen3", Some(ReasoningEffort::Low)), json!(true));
    assert_eq!(
        think("gpt-oss:20b", Some(ReasoningEffort::Medium)),
        json!("medium")
    );
    assert_eq!(
        think("gpt-oss:20b", Some(ReasoningEffort::Off)),
        json!("low")
    );
}

#[test]
fn a_conversation_with_calls_results_and_pictures() {
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let image = json!({"type": "image", "source": {"type": "data", "value": "aa==", "mimeType": "image/png"}});
    let history = json!([
        {"id": "0", "role": "developer", "content": "Rank."},
        {"id": "1", "role": "user", "content": [
            {"type": "text", "text": "Look"}, image,
            {"type": "image", "source": {"type": "url", "value": "https://x/y.png"}},
            {"type": "document", "source": {"type": "data", "value": "bb==", "mimeType": "application/pdf"}},
        ]},
        {"id": "2", "role": "reasoning", "content": "Hm"},
        {"id": "3", "role": "reasoning", "content": "sealed", "encryptedValue": "x"},
        {"id": "4", "role": "assistant", "content": "One.", "toolCalls": [call("a", "f", "{\"x\": 1}"), call("b", "g", "")]},
        {"id": "5", "role": "assistant", "content": "Two."},
        {"id": "6", "role": "tool", "toolCallId": "a", "content": [{"type": "text", "text": "Here"}, image]},
        {"id": "7", "role": "tool", "toolCallId": "b", "content": "", "error": "no luck"},
        {"id": "8", "role": "reasoning", "content": "nothing comes of it"},
        {"id": "9", "role": "user", "content": "And?"},
    ]);
    let request = encode(
        None,
        "m",
        history,
        json!([]),
        &GenerationSettings::default(),
    );
    assert_eq!(
        body(&request)["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "system", "content": "Rank."},
            {"role": "user", "content": "Look\n[image: https://x/y.png]\n[document, which cannot be shown here]", "images": ["aa=="]},
            {"role": "assistant", "content": "One.\n\nTwo.", "thinking": "Hm", "tool_calls": [
                {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}},
                {"id": "b", "function": {"name": "g", "arguments": {}}},
            ]},
            {"role": "tool", "content": "Here", "images": ["aa=="], "tool_name": "f", "tool_call_id": "a"},
            {"role": "tool", "content": r#"{"error":"no luck"}"#, "tool_name": "g", "tool_call_id": "b"},
            {"role": "user", "content": "And?"},
        ])
    );
}
