use serde_json::{Map, Value, json};
use stepwell_core::dialect::{
    CacheLifetime, Dialect, EffortField, Endpoint, GenerationSettings, HttpRequest, ModelRequest,
    ReasoningEffort, ReasoningReturn, ResponseFormat, Secret, ToolChoice,
};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::provider;

fn endpoint(provider: &str) -> Endpoint {
    let base_url = (provider == "openai-compatible").then_some("https://h/v1/");
    provider::find(provider)
        .expect("a known provider")
        .endpoint(None, "m-1", base_url, Some(Secret::from("k")))
        .expect("complete")
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
    Dialect::OpenAiChat.encoder().encode(&ModelRequest {
        endpoint,
        ids: &crate::chat::ids(Dialect::OpenAiChat),
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

fn body(request: &HttpRequest) -> String {
    String::from_utf8(request.body.clone()).expect("JSON is UTF-8")
}

/// What becomes of the messages.
fn messages(endpoint: &Endpoint, messages: Value) -> Value {
    let request = encode(
        endpoint,
        None,
        messages,
        json!([]),
        &GenerationSettings::default(),
    );
    let mut body: Value = serde_json::from_slice(&request.body).expect("JSON");
    body["messages"].take()
}

#[test]
fn a_plain_request_in_full() {
    let request = encode(
        &endpoint("openai"),
        Some("Be brief."),
        json!([{"id": "1", "role": "user", "content": "Hi"}]),
        json!([]),
        &GenerationSettings::default(),
    );
    assert_eq!(request.method, "POST");
    assert_eq!(request.url, "https://api.openai.com/v1/chat/completions");
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
        body(&request),
        r#"{"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}"#
    );
}

#[test]
fn everything_that_can_be_asked_for_in_full() {
    let settings = GenerationSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        tool_choice: ToolChoice::Named("add".to_owned()),
        parallel_tool_calls: Some(false),
        extra: Map::from_iter([
            ("seed".to_owned(), json!(7)),
            ("stream_options".to_owned(), json!({})),
        ]),
        ..GenerationSettings::default()
    };
    let tools = json!([
        {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}},
        {"name": "now", "description": ""},
    ]);
    let said = json!([{"id": "1", "role": "user", "content": "Hi"}]);
    let request = |provider| {
        body(&encode(
            &endpoint(provider),
            None,
            said.clone(),
            tools.clone(),
            &settings,
        ))
    };
    assert_eq!(
        request("openai"),
        concat!(
            r#"{"model":"m-1","stream":true,"messages":[{"role":"user","content":"Hi"}],"#,
            r#""tools":[{"type":"function","function":{"name":"add","description":"Adds.","parameters":{"type":"object","properties":{"a":{"type":"number"}}}}},"#,
            r#"{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],"#,
            r#""tool_choice":{"type":"function","function":{"name":"add"}},"parallel_tool_calls":false,"temperature":0.5,"#,
            r#""max_completion_tokens":100,"seed":7,"stream_options":{}}"#
        )
    );
    assert!(request("together").contains(r#""max_tokens":100"#));
    assert_eq!(request("groq"), request("groq"));
}

#[test]
fn the_endpoint_may_add_headers_and_differ() {
    let mut endpoint = endpoint("openai-compatible");
    endpoint.key = None;
    endpoint.headers = vec![("x-title".to_owned(), "app".to_owned())];
    endpoint.quirks.no_stream_options = true;
    let request = encode(
        &endpoint,
        None,
        json!([]),
        json!([]),
        &GenerationSettings::default(),
    );
    assert_eq!(request.url, "https://h/v1/chat/completions");
    assert_eq!(request.headers.len(), 3);
    assert_eq!(request.headers[2].0, "x-title");
    assert_eq!(
        body(&request),
        r#"{"model":"m-1","stream":true,"messages":[]}"#
    );
}

#[test]
fn tool_choice_goes_only_with_tools() {
    let choose = |tool_choice, tools| {
        let settings = GenerationSettings {
            tool_choice,
            parallel_tool_calls: Some(true),
            ..GenerationSettings::default()
        };
        let request = encode(&endpoint("openai"), None, json!([]), tools, &settings);
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        (
            body["tool_choice"].clone(),
            body["parallel_tool_calls"].clone(),
        )
    };
    let tools = || json!([{"name": "f", "description": "d"}]);
    assert_eq!(
        choose(ToolChoice::Required, json!([])),
        (Value::Null, Value::Null)
    );
    assert_eq!(
        choose(ToolChoice::Auto, tools()),
        (Value::Null, json!(true))
    );
    assert_eq!(choose(ToolChoice::None, tools()).0, json!("none"));
    assert_eq!(choose(ToolChoice::Required, tools()).0, json!("required"));
}

#[test]
fn a_hop_is_one_assistant_message_with_its_results_behind_it() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let said = json!([
        {"id": "1", "role": "system", "content": "S"},
        {"id": "2", "role": "user", "content": "Hi", "name": "Ann"},
        {"id": "3", "role": "reasoning", "content": "Hm"},
        {"id": "4", "role": "assistant", "content": "Let me"},
        {"id": "5", "role": "assistant", "toolCalls": [call("a", ""), call("b", " null ")]},
        {"id": "6", "role": "activity", "activityType": "x", "content": {}},
        {"id": "7", "role": "assistant", "content": "see", "toolCalls": [call("c", "{\"x\": 1}"), call("d", "{\"x\"")]},
        {"id": "8", "role": "tool", "toolCallId": "a", "content": "1"},
        {"id": "9", "role": "tool", "toolCallId": "b", "content": "", "error": "No such file"},
        {"id": "10", "role": "tool", "toolCallId": "c", "content": "half", "error": "Broke"},
        {"id": "11", "role": "tool", "toolCallId": "d", "content": "It said: Broke", "error": "Broke"},
        {"id": "12", "role": "assistant", "content": ""},
        {"id": "13", "role": "assistant"},
        {"id": "14", "role": "user", "content": "And?"},
        {"id": "15", "role": "assistant", "content": "Done"},
    ]);
    let function = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    assert_eq!(
        messages(&endpoint("openai"), said),
        json!([
            {"role": "system", "content": "S"},
            {"role": "user", "content": "Hi", "name": "Ann"},
            {"role": "assistant", "content": "Let me\n\nsee", "tool_calls": [
                function("a", "{}"), function("b", "{}"), function("c", "{\"x\": 1}"), function("d", "{\"x\""),
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": r#"{"error":"No such file"}"#},
            {"role": "tool", "tool_call_id": "c", "content": r#"{"error":"Broke","output":"half"}"#},
            {"role": "tool", "tool_call_id": "d", "content": r#"{"error":"It said: Broke"}"#},
            {"role": "user", "content": "And?"},
            {"role": "assistant", "content": "Done"},
        ])
    );
}

#[test]
fn calls_without_text_have_null_content() {
    let said = json!([{"id": "1", "role": "assistant", "toolCalls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ]}]);
    let request = encode(
        &endpoint("openai"),
        None,
        said,
        json!([]),
        &GenerationSettings::default(),
    );
    assert!(body(&request).contains(r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#));
}

#[test]
fn developers_speak_as_the_system_where_there_is_no_such_role() {
    let said = json!([{"id": "1", "role": "developer", "content": "D"}]);
    assert_eq!(
        messages(&endpoint("openai"), said.clone())[0]["role"],
        "developer"
    );
    assert_eq!(messages(&endpoint("groq"), said)[0]["role"], "system");
}

/// Reasoning details as the decoder keeps them.
fn sealed(provider: &str, details: &Value) -> String {
    json!({"provider": provider, "dialect": "openai-chat", "value": details}).to_string()
}

#[test]
fn reasoning_goes_back_as_the_provider_wants_it() {
    let details = json!([{"type": "reasoning.text", "text": "Hm", "signature": "s"}, {"type": "reasoning.encrypted", "data": "z"}]);
    let said = json!([
        {"id": "1", "role": "reasoning", "content": "Hm", "encryptedValue": sealed("openrouter", &details)},
        {"id": "2", "role": "reasoning", "content": "Ha", "encryptedValue": sealed("another", &details)},
        {"id": "3", "role": "assistant", "content": "A"},
        {"id": "4", "role": "reasoning", "content": "alone"},
        {"id": "5", "role": "user", "content": "U"},
        {"id": "6", "role": "reasoning", "content": "alone again"},
    ]);
    let with = |reasoning| {
        let mut endpoint = endpoint("openrouter");
        endpoint.quirks.reasoning = reasoning;
        messages(&endpoint, said.clone())
    };
    let user = json!({"role": "user", "content": "U"});
    assert_eq!(
        with(ReasoningReturn::Never),
        json!([{"role": "assistant", "content": "A"}, user])
    );
    assert_eq!(
        with(ReasoningReturn::Content),
        json!([{"role": "assistant", "content": "A", "reasoning_content": "Hm\n\nalone"}, user])
    );
    assert_eq!(
        with(ReasoningReturn::Details),
        json!([
            {"role": "assistant", "content": "A", "reasoning_details": details},
            user
        ])
    );
    assert_eq!(
        endpoint("openrouter").quirks.reasoning,
        ReasoningReturn::Details
    );
}

#[test]
fn attachments_are_parts_as_far_as_the_format_has_them() {
    let data = |kind: &str, mime: &str| json!({"type": kind, "source": {"type": "data", "value": "QQ==", "mimeType": mime}});
    let url = |kind: &str| json!({"type": kind, "source": {"type": "url", "value": "https://x/y"}});
    let mut named = data("document", "application/pdf");
    named["metadata"] = json!({"filename": "a.pdf"});
    let parts = json!([
        {"type": "text", "text": "Look"},
        url("image"),
        data("image", "image/png"),
        data("audio", "audio/mpeg"),
        data("audio", "audio/x-wav"),
        data("audio", "audio/flac;rate=1"),
        named,
        data("document", "text/plain"),
        {"type": "document", "source": {"type": "file", "value": "file-1"}},
        url("document"),
        url("audio"),
        data("video", "video/mp4"),
    ]);
    let said = json!([{"id": "1", "role": "user", "content": parts}]);
    assert_eq!(
        messages(&endpoint("openai"), said),
        json!([{"role": "user", "content": [
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": "https://x/y"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}},
            {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "mp3"}},
            {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}},
            {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "flac"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QQ=="}},
            {"type": "file", "file": {"filename": "document.txt", "file_data": "data:text/plain;base64,QQ=="}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "text", "text": "[document: https://x/y]"},
            {"type": "text", "text": "[audio: https://x/y]"},
            {"type": "text", "text": "[video, which cannot be shown here]"},
        ]}])
    );
    let result = json!([{"id": "1", "role": "tool", "toolCallId": "a", "content": [
        {"type": "text", "text": "Here"}, url("image"), data("image", "image/png"),
    ]}]);
    assert_eq!(
        messages(&endpoint("openai"), result),
        json!([{"role": "tool", "tool_call_id": "a",
            "content": "Here\n[image: https://x/y]\n[image, which cannot be shown here]"}])
    );
}

#[test]
fn the_form_of_the_answer_is_asked_for() {
    let format = |response_format| {
        let settings = GenerationSettings {
            response_format,
            ..GenerationSettings::default()
        };
        encoded("openai", None, json!([]), &settings)["response_format"].take()
    };
    let schema = json!({"type": "object", "properties": {"a": {"type": "number"}}});
    assert_eq!(format(ResponseFormat::Text), Value::Null);
    assert_eq!(format(ResponseFormat::Json), json!({"type": "json_object"}));
    assert_eq!(
        format(ResponseFormat::Schema {
            name: "n".to_owned(),
            schema: schema.clone(),
            strict: true
        }),
        json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": true}})
    );
}

#[test]
fn effort_is_said_in_each_providers_field() {
    let effort = |provider, effort| {
        let settings = GenerationSettings {
            reasoning: Some(effort),
            ..GenerationSettings::default()
        };
        let body = encoded(provider, None, json!([]), &settings);
        (body["reasoning_effort"].clone(), body["reasoning"].clone())
    };
    use ReasoningEffort::{High, Low, Medium, Off};
    for provider in ["openai", "groq", "together", "fireworks", "nvidia"] {
        assert_eq!(effort(provider, Off), (json!("none"), Value::Null));
        assert_eq!(effort(provider, Medium), (json!("medium"), Value::Null));
    }
    assert_eq!(
        effort("openrouter", Low),
        (Value::Null, json!({"effort": "low"}))
    );
    let mut never = endpoint("openai");
    never.quirks.effort = EffortField::Never;
    let settings = GenerationSettings {
        reasoning: Some(High),
        ..GenerationSettings::default()
    };
    let request = encode(&never, None, json!([]), json!([]), &settings);
    assert!(!body(&request).contains("reasoning"));
}

#[test]
fn refusals_go_back_where_there_is_a_field_for_them() {
    let said = json!([
        {"id": "1", "role": "assistant", "content": "", "metadata": {"refusal": "No."}},
        {"id": "2", "role": "user", "content": "Why?"},
    ]);
    assert_eq!(
        messages(&endpoint("openai"), said.clone())[0],
        json!({"role": "assistant", "content": null, "refusal": "No."})
    );
    assert_eq!(
        messages(&endpoint("groq"), said)[0],
        json!({"role": "assistant", "content": "No."})
    );
}

#[test]
fn marks_for_the_cache_go_where_the_provider_takes_them() {
    let said = json!([
        {"id": "1", "role": "user", "metadata": {"cacheControl": true}, "content": "A"},
        {"id": "2", "role": "user", "content": [
            {"type": "text", "text": "B", "metadata": {"cacheControl": {"type": "ephemeral", "ttl": "1h"}}},
            {"type": "text", "text": "C", "metadata": {"cacheControl": null}},
        ]},
        {"id": "3", "role": "assistant", "content": "D", "metadata": {"cacheControl": true}},
        {"id": "4", "role": "user", "content": "E"},
    ]);
    let plain = json!({"type": "ephemeral"});
    let mut settings = GenerationSettings::default();
    let mut marked = json!([
        {"role": "system", "content": "S"},
        {"role": "user", "content": [{"type": "text", "text": "A", "cache_control": plain}]},
        {"role": "user", "content": [
            {"type": "text", "text": "B", "cache_control": {"type": "ephemeral", "ttl": "1h"}}, {"type": "text", "text": "C"},
        ]},
        {"role": "assistant", "content": "D"},
        {"role": "user", "content": "E"},
    ]);
    let body = encoded("openrouter", Some("S"), said.clone(), &settings);
    assert_eq!(body["messages"], marked);

    settings.cache_prompt = Some(CacheLifetime::FiveMinutes);
    for (place, text) in [(0, "S"), (4, "E")] {
        marked[place]["content"] = json!([{"type": "text", "text": text, "cache_control": plain}]);
    }
    let body = encoded("openrouter", Some("S"), said.clone(), &settings);
    assert_eq!(body["messages"], marked);
    let body = encoded("openai", Some("S"), said, &settings);
    assert!(!body.to_string().contains("cache_control"));
}

fn encoded(
    provider: &str,
    instructions: Option<&str>,
    messages: Value,
    settings: &GenerationSettings,
) -> Value {
    let request = encode(
        &endpoint(provider),
        instructions,
        messages,
        json!([]),
        settings,
    );
    serde_json::from_slice(&request.body).expect("JSON")
}

#[test]
fn a_model_is_asked_only_for_what_it_takes() {
    let body = |model: &str, effort| {
        let mut endpoint = endpoint("openai");
        endpoint.model = model.to_owned();
        let settings = GenerationSettings {
            reasoning: Some(effort),
            temperature: Some(0.5),
            ..GenerationSettings::default()
        };
        let request = encode(&endpoint, None, json!([]), json!([]), &settings);
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        (
            body["reasoning_effort"].clone(),
            body["temperature"].clone(),
        )
    };
    let (off, high) = (ReasoningEffort::Off, ReasoningEffort::High);
    let none = Value::Null;
    assert_eq!(body("gpt-4o", high), (none.clone(), json!(0.5)));
    assert_eq!(body("gpt-5", off), (json!("minimal"), none.clone()));
    assert_eq!(body("o3", off), (json!("low"), none.clone()));
    assert_eq!(body("gpt-5.2", off), (json!("none"), json!(0.5)));
    assert_eq!(body("gpt-5.2", high), (json!("high"), none));
    assert_eq!(body("m-1", high), (json!("high"), json!(0.5)));
}

#[test]
fn broken_arguments_go_as_they_are_to_openai_alone() {
    let said = json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "toolCalls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x"}}]},
    ]);
    let said: Vec<Message> = serde_json::from_value(said).expect("messages");
    let arguments = |base_url: Option<&str>| {
        let mut endpoint = endpoint("openai");
        if let Some(base_url) = base_url {
            endpoint.base_url = base_url.to_owned();
        }
        let settings = GenerationSettings::default();
        let request = crate::legal::targets::encode(&endpoint, &said, &[], &settings);
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        body["messages"][2]["tool_calls"][0]["function"]["arguments"].clone()
    };
    assert_eq!(arguments(None), "{\"x");
    assert_eq!(arguments(Some("http://localhost/v1")), r#"{"raw":"{\"x"}"#);
}
