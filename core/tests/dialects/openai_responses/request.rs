use serde_json::{Map, Value, json};
use stepwell_core::dialect::{
    Dialect, Endpoint, GenerationSettings, HttpRequest, ModelRequest, Quirks, ReasoningEffort,
    ResponseFormat, Secret, ToolChoice,
};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::provider;

fn endpoint(model: &str) -> Endpoint {
    let mut endpoint = provider::find("openai")
        .expect("a known provider")
        .endpoint(Some("responses"), model, None, Some(Secret::from("k")))
        .expect("complete");
    endpoint.quirks = Quirks::default();
    endpoint
}

fn encode(
    endpoint: &Endpoint,
    instructions: Option<&str>,
    messages: Value,
    tools: Value,
    settings: &GenerationSettings,
) -> HttpRequest {
    let messages: Vec<Message> = serde_json::from_value(messages).expect("AG-UI messages");
    let tools: Vec<ToolDefinition> = serde_json::from_value(tools).expect("AG-UI tools");
    Dialect::OpenAiResponses.encoder().encode(&ModelRequest {
        endpoint,
        ids: &crate::chat::ids(Dialect::OpenAiResponses),
        parent_run_id: None,
        instructions,
        messages: &messages.iter().collect::<Vec<_>>(),
        tools: &tools,
        state: &Value::Null,
        settings,
        resume: &[],
        compact_above: None,
        now: stepwell_core::Timestamp(0),
    })
}

fn text(request: &HttpRequest) -> String {
    String::from_utf8(request.body.clone()).expect("JSON is UTF-8")
}

/// What becomes of the messages.
fn input_with(messages: Value, settings: &GenerationSettings) -> Value {
    let request = encode(&endpoint("m-1"), None, messages, json!([]), settings);
    let mut body: Value = serde_json::from_slice(&request.body).expect("JSON");
    body["input"].take()
}

fn input(messages: Value) -> Value {
    input_with(messages, &GenerationSettings::default())
}

/// A field of the body under these settings.
fn field(model: &str, settings: &GenerationSettings, name: &str) -> Value {
    let said = json!([{"id": "1", "role": "user", "content": "Hi"}]);
    let tools = json!([{"name": "add", "description": ""}, {"name": "sql", "description": "", "metadata": {"customTool": true}}]);
    let request = encode(&endpoint(model), None, said, tools, settings);
    let mut body: Value = serde_json::from_slice(&request.body).expect("JSON");
    body[name].take()
}

#[test]
fn a_plain_request_in_full() {
    let request = encode(
        &endpoint("m-1"),
        Some("Be brief."),
        json!([{"id": "1", "role": "user", "content": "Hi"}]),
        json!([]),
        &GenerationSettings::default(),
    );
    assert_eq!(request.method, "POST");
    assert_eq!(request.url, "https://api.openai.com/v1/responses");
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        headers,
        [
            ("authorization", "Bearer k"),
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
        ]
    );
    assert_eq!(
        text(&request),
        concat!(
            r#"{"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"#,
            r#""instructions":"Be brief.","input":[{"type":"message","role":"user","content":"Hi"}]}"#
        )
    );
}

#[test]
fn everything_that_can_be_asked_for_in_full() {
    let settings = GenerationSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        tool_choice: ToolChoice::Named("add".to_owned()),
        parallel_tool_calls: Some(false),
        response_format: ResponseFormat::Schema {
            name: "sum".to_owned(),
            schema: json!({"type": "object"}),
            strict: true,
        },
        reasoning: Some(ReasoningEffort::High),
        extra: Map::from_iter([
            ("store".to_owned(), json!(true)),
            ("include".to_owned(), json!([])),
            ("truncation".to_owned(), json!("auto")),
        ]),
        ..GenerationSettings::default()
    };
    let request = encode(
        &endpoint("m-1"),
        None,
        json!([]),
        json!([
            {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}, "metadata": {"strict": true}},
            {"name": "now", "description": ""},
            {"name": "sql", "description": "Runs SQL.", "parameters": {"type": "object"}, "metadata": {"customTool": {"type": "text"}}},
        ]),
        &settings,
    );
    assert_eq!(
        text(&request),
        concat!(
            r#"{"model":"m-1","stream":true,"input":[],"#,
            r#""tools":[{"type":"function","name":"add","description":"Adds.","parameters":{"type":"object","properties":{"a":{"type":"number"}}},"strict":true},"#,
            r#"{"type":"function","name":"now","parameters":{"type":"object","properties":{}},"strict":false},"#,
            r#"{"type":"custom","name":"sql","description":"Runs SQL.","format":{"type":"text"}}],"#,
            r#""tool_choice":{"type":"function","name":"add"},"parallel_tool_calls":false,"#,
            r#""reasoning":{"effort":"high","summary":"auto"},"#,
            r#""text":{"format":{"type":"json_schema","name":"sum","schema":{"type":"object"},"strict":true}},"#,
            r#""temperature":0.5,"max_output_tokens":100,"#,
            r#""store":true,"include":[],"truncation":"auto"}"#
        )
    );
}

#[test]
fn each_choice_of_tools() {
    let choice = |tool_choice| {
        field(
            "m-1",
            &GenerationSettings {
                tool_choice,
                ..GenerationSettings::default()
            },
            "tool_choice",
        )
    };
    assert_eq!(choice(ToolChoice::Auto), Value::Null);
    assert_eq!(choice(ToolChoice::None), "none");
    assert_eq!(choice(ToolChoice::Required), "required");
    assert_eq!(
        choice(ToolChoice::Named("sql".to_owned())),
        json!({"type": "custom", "name": "sql"})
    );
}

#[test]
fn some_json_object() {
    let settings = GenerationSettings {
        response_format: ResponseFormat::Json,
        ..GenerationSettings::default()
    };
    assert_eq!(
        field("m-1", &settings, "text"),
        json!({"format": {"type": "json_object"}})
    );
}

#[test]
fn the_least_effort_is_in_the_models_own_word() {
    let effort = |model, effort| {
        let settings = GenerationSettings {
            reasoning: Some(effort),
            ..GenerationSettings::default()
        };
        field(model, &settings, "reasoning")
    };
    let off = ReasoningEffort::Off;
    assert_eq!(effort("o4-mini", off), json!({"effort": "low"}));
    assert_eq!(
        effort("openai/gpt-5-mini", off),
        json!({"effort": "minimal"})
    );
    assert_eq!(effort("gpt-5", off), json!({"effort": "minimal"}));
    assert_eq!(effort("gpt-5.2", off), json!({"effort": "none"}));
    assert_eq!(
        effort("gpt-5.2", ReasoningEffort::Low),
        json!({"effort": "low", "summary": "auto"})
    );
    assert_eq!(
        effort("gpt-5.2", ReasoningEffort::Medium),
        json!({"effort": "medium", "summary": "auto"})
    );
}

#[test]
fn models_that_never_reason_are_not_asked_for_it() {
    let include = |model| field(model, &GenerationSettings::default(), "include");
    for model in [
        "gpt-4.1-mini",
        "gpt-4o",
        "openai/gpt-4o",
        "ft:gpt-4o:me",
        "gpt-3.5-turbo",
        "gpt-5-chat-latest",
    ] {
        assert_eq!(include(model), Value::Null, "{model}");
    }
    for model in ["gpt-5", "o3", "grok-4", "openai/gpt-oss-20b"] {
        assert_eq!(
            include(model),
            json!(["reasoning.encrypted_content"]),
            "{model}"
        );
    }
    let settings = GenerationSettings {
        reasoning: Some(ReasoningEffort::Low),
        temperature: Some(0.5),
        ..GenerationSettings::default()
    };
    assert_eq!(field("gpt-4o", &settings, "reasoning"), Value::Null);
    assert_eq!(field("gpt-4o", &settings, "temperature"), json!(0.5));
    // An app knows its own models better.
    let mut own = endpoint("gpt-4-that-thinks");
    own.quirks.model = Some(provider::ModelRules::default());
    let request = encode(&own, None, json!([]), json!([]), &settings);
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["reasoning"]["effort"], "low");
}

#[test]
fn what_a_model_has_thought_is_not_sent_to_one_that_never_thinks() {
    let item =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "secret"});
    let messages = json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "reasoning", "content": "Hm", "encryptedValue": sealed("openai", item)},
        {"id": "3", "role": "assistant", "content": "Hello."},
    ]);
    let sent = |model| {
        let settings = GenerationSettings::default();
        text(&encode(
            &endpoint(model),
            None,
            messages.clone(),
            json!([]),
            &settings,
        ))
    };
    assert!(sent("gpt-5").contains("secret"));
    assert!(!sent("gpt-4o").contains("secret"));
}

#[test]
fn a_temperature_goes_only_to_models_that_take_one() {
    let takes = |model, reasoning| {
        let settings = GenerationSettings {
            reasoning,
            temperature: Some(0.5),
            ..GenerationSettings::default()
        };
        field(model, &settings, "temperature") == json!(0.5)
    };
    let low = Some(ReasoningEffort::Low);
    assert!(takes("gpt-4o", None) && takes("m-1", low) && takes("gpt-5-chat-latest", None));
    assert!(takes("gpt-5.2", None) && takes("gpt-5.2", Some(ReasoningEffort::Off)));
    assert!(!takes("gpt-5.2", low));
    for model in ["gpt-5", "gpt-5-mini", "o3", "openai/o4-mini"] {
        assert!(!takes(model, None), "{model}");
    }
}

#[test]
fn what_is_said_by_whom() {
    assert_eq!(
        input(json!([
            {"id": "1", "role": "developer", "content": "d"},
            {"id": "2", "role": "system", "content": "s"},
            {"id": "3", "role": "activity", "activityType": "x", "content": {}},
            {"id": "4", "role": "user", "content": "u"},
            {"id": "5", "role": "assistant", "content": "a"},
            {"id": "6", "role": "assistant", "content": ""},
        ])),
        json!([
            {"type": "message", "role": "developer", "content": "d"},
            {"type": "message", "role": "system", "content": "s"},
            {"type": "message", "role": "user", "content": "u"},
            {"type": "message", "role": "assistant", "content": "a"},
        ])
    );
}

#[test]
fn what_a_user_attaches() {
    let part = |kind: &str, source: Value| json!({"type": kind, "source": source});
    let data = |mime: &str| json!({"type": "data", "value": "AAAA", "mimeType": mime});
    let url = json!({"type": "url", "value": "https://h/x"});
    let file = json!({"type": "file", "value": "file-1"});
    let mut named = part("document", data("application/pdf"));
    named["metadata"] = json!({"filename": "a.pdf"});
    assert_eq!(
        input(json!([{"id": "1", "role": "user", "content": [
            {"type": "text", "text": "See:"},
            part("image", data("image/png")),
            part("image", url.clone()),
            part("image", file.clone()),
            named,
            part("document", data("application/pdf")),
            part("document", url.clone()),
            part("document", file),
            part("audio", data("audio/mpeg")),
            part("audio", url.clone()),
            part("video", url),
        ]}]))[0]["content"],
        json!([
            {"type": "input_text", "text": "See:"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"},
            {"type": "input_image", "detail": "auto", "image_url": "https://h/x"},
            {"type": "input_image", "detail": "auto", "file_id": "file-1"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
            {"type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,AAAA"},
            {"type": "input_file", "file_url": "https://h/x"},
            {"type": "input_file", "file_id": "file-1"},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
            {"type": "input_text", "text": "[audio: https://h/x]"},
            {"type": "input_text", "text": "[video: https://h/x]"},
        ])
    );
}

fn with_calls(calls: Value, results: &[Value]) -> Value {
    let mut messages = vec![json!({"id": "1", "role": "assistant"})];
    messages[0]["toolCalls"] = calls;
    messages.extend_from_slice(results);
    input(json!(messages))
}

fn function(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}})
}

#[test]
fn calls_and_their_results() {
    assert_eq!(
        with_calls(
            json!([
                function("a", "{\"x\": 1.0}"),
                function("b", ""),
                function("c", "not JSON")
            ]),
            &[
                json!({"id": "2", "role": "tool", "toolCallId": "a", "content": "1"}),
                json!({"id": "3", "role": "tool", "toolCallId": "b", "content": "", "error": "broke"}),
                json!({"id": "4", "role": "tool", "toolCallId": "c", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}),
            ]
        ),
        json!([
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{\"x\": 1.0}"},
            {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"raw\":\"not JSON\"}"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
            {"type": "function_call_output", "call_id": "b", "output": r#"{"error":"broke"}"#},
            {"type": "function_call_output", "call_id": "c", "output": "x\ny"},
        ])
    );
}

#[test]
fn results_to_look_at_are_parts() {
    let image = json!({"type": "image", "source": {"type": "url", "value": "https://h/x"}});
    let sound = json!({"type": "audio", "source": {"type": "data", "value": "AAAA", "mimeType": "audio/wav"}});
    let result = json!({"id": "2", "role": "tool", "toolCallId": "a", "error": "half", "content": [{"type": "text", "text": "t"}, image, sound]});
    assert_eq!(
        with_calls(json!([function("a", "{}")]), &[result])[1]["output"],
        json!([
            {"type": "input_text", "text": r#"{"error":"half","output":"t\n[audio, which cannot be shown here]"}"#},
            {"type": "input_image", "detail": "auto", "image_url": "https://h/x"},
        ])
    );
}

fn sealed(provider: &str, value: Value) -> String {
    let mut sealed = json!({"provider": provider, "dialect": "openai-responses"});
    sealed["value"] = value;
    sealed.to_string()
}

#[test]
fn a_custom_tools_call_and_result_go_back_as_such() {
    let custom = |provider: &str, arguments: &str| {
        let mut call = function("a", arguments);
        call["encryptedValue"] = sealed(provider, json!({"type": "custom_tool_call"})).into();
        let result = json!({"id": "2", "role": "tool", "toolCallId": "a", "content": "1"});
        with_calls(json!([call]), &[result])
    };
    assert_eq!(
        custom("openai", "{\"input\":\"SELECT\\n\"}"),
        json!([
            {"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "SELECT\n"},
            {"type": "custom_tool_call_output", "call_id": "a", "output": "1"},
        ])
    );
    assert_eq!(
        custom("openai", "{\"input\":\"SEL")[0]["input"],
        "{\"input\":\"SEL"
    );
    assert_eq!(
        custom("xai", "{\"input\":\"SELECT\"}"),
        json!([
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{\"input\":\"SELECT\"}"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
        ])
    );
}

fn thought(provider: &str, item: Value) -> Value {
    json!({"id": "1", "role": "reasoning", "content": "Hm.", "encryptedValue": sealed(provider, item)})
}

#[test]
fn reasoning_goes_back_in_front_of_what_it_led_to() {
    let encrypted = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA", "new": 1.50});
    let said = json!({"id": "2", "role": "assistant", "content": "a"});
    let follows = |first: Value| input(json!([first, said]))[0]["type"].clone();
    assert_eq!(
        input(json!([thought("openai", encrypted.clone()), said]))[0],
        encrypted
    );
    assert_eq!(follows(thought("openrouter", encrypted.clone())), "message");
    assert_eq!(
        follows(json!({"id": "1", "role": "reasoning", "content": "Hm."})),
        "message"
    );
    let raw = json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}]});
    assert_eq!(follows(thought("openai", raw)), "reasoning");
    // What the service did not keep it cannot find by its id.
    for encrypted in [Value::Null, json!("")] {
        let bare = json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": [], "encrypted_content": encrypted});
        assert_eq!(follows(thought("openai", bare.clone())), "message");
        let stored = GenerationSettings {
            extra: Map::from_iter([("store".to_owned(), json!(true))]),
            ..GenerationSettings::default()
        };
        let input = input_with(json!([thought("openai", bare), said]), &stored);
        assert_eq!(input[0]["type"], "reasoning");
    }
}

#[test]
fn reasoning_that_led_to_nothing_is_left_out() {
    let encrypted = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA"});
    let user = json!({"id": "2", "role": "user", "content": "u"});
    assert_eq!(
        input(json!([thought("openai", encrypted.clone()), user])),
        json!([{"type": "message", "role": "user", "content": "u"}])
    );
    assert_eq!(input(json!([thought("openai", encrypted)])), json!([]));
}

#[test]
fn a_provider_without_a_developer_role() {
    let mut endpoint = endpoint("m-1");
    endpoint.quirks.no_developer_role = true;
    let said = json!([{"id": "1", "role": "developer", "content": "d"}]);
    let request = encode(
        &endpoint,
        None,
        said,
        json!([]),
        &GenerationSettings::default(),
    );
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(body["input"][0]["role"], "system");
}
