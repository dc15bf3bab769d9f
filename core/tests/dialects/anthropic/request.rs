use crate::validate;
use serde_json::{Map, Value, json};
use stepwell_core::dialect::{
    CacheLifetime, Dialect, Endpoint, GenerationSettings, HttpRequest, ModelRequest,
    ReasoningEffort, ResponseFormat, Secret, ToolChoice,
};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::provider;

fn endpoint(model: &str) -> Endpoint {
    provider::find("anthropic")
        .expect("a known provider")
        .endpoint(None, model, None, Some(Secret::from("k")))
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
    Dialect::Anthropic.encoder().encode(&ModelRequest {
        endpoint,
        ids: &super::support::ids(),
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

fn json_body(request: &HttpRequest) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

/// The body for a model, with these settings and one tool.
fn asked(model: &str, settings: &GenerationSettings) -> Value {
    let said = json!([{"id": "1", "role": "user", "content": "Hi"}]);
    let tools = json!([{"name": "add", "description": "Adds."}]);
    json_body(&encode(&endpoint(model), None, said, tools, settings))
}

/// What becomes of the messages.
fn turns(messages: Value) -> Value {
    let settings = GenerationSettings::default();
    let request = encode(&endpoint("m"), None, messages, json!([]), &settings);
    json_body(&request)["messages"].take()
}

fn headers(request: &HttpRequest) -> Vec<(&str, &str)> {
    let headers = request.headers.iter();
    headers
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

#[test]
fn a_plain_request_in_full() {
    let request = encode(
        &endpoint("claude-sonnet-4-5"),
        Some("Be brief."),
        json!([{"id": "1", "role": "user", "content": "Hi"}]),
        json!([]),
        &GenerationSettings::default(),
    );
    assert_eq!(request.method, "POST");
    assert_eq!(request.url, "https://api.anthropic.com/v1/messages");
    assert_eq!(
        headers(&request),
        [
            ("x-api-key", "k"),
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
            ("anthropic-version", "2023-06-01"),
        ]
    );
    assert_eq!(
        std::str::from_utf8(&request.body),
        Ok(
            r#"{"model":"claude-sonnet-4-5","max_tokens":8192,"stream":true,"system":[{"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}"#
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
            name: "person".to_owned(),
            schema: json!({"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": false}),
            strict: true,
        },
        extra: Map::from_iter([
            ("top_k".to_owned(), json!(7)),
            ("stream".to_owned(), json!(false)),
        ]),
        ..GenerationSettings::default()
    };
    let tools = json!([
        {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}},
        {"name": "now", "description": ""},
    ]);
    let request = encode(
        &endpoint("claude-sonnet-4-5"),
        None,
        json!([{"id": "1", "role": "user", "content": "Hi"}]),
        tools,
        &settings,
    );
    assert_eq!(
        json_body(&request),
        json!({
            "model": "claude-sonnet-4-5", "max_tokens": 100,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
            "tools": [
                {"name": "add", "description": "Adds.", "input_schema": {"type": "object", "properties": {"a": {"type": "number"}}}},
                {"name": "now", "input_schema": {"type": "object", "properties": {}}},
            ],
            "tool_choice": {"type": "tool", "name": "add", "disable_parallel_tool_use": true},
            "temperature": 0.5,
            "output_config": {"format": {"type": "json_schema", "schema": {
                "type": "object", "additionalProperties": false,
                "properties": {"name": {"type": "string"}},
            }}},
            "top_k": 7, "stream": false,
        })
    );
}

#[test]
fn tool_choice_in_all_its_forms() {
    for (choice, parallel, encoded) in [
        (ToolChoice::Auto, None, Value::Null),
        (
            ToolChoice::Auto,
            Some(true),
            json!({"type": "auto", "disable_parallel_tool_use": false}),
        ),
        (ToolChoice::None, Some(false), json!({"type": "none"})),
        (ToolChoice::Required, None, json!({"type": "any"})),
        (
            ToolChoice::Named("add".to_owned()),
            None,
            json!({"type": "tool", "name": "add"}),
        ),
    ] {
        let settings = GenerationSettings {
            tool_choice: choice,
            parallel_tool_calls: parallel,
            ..GenerationSettings::default()
        };
        assert_eq!(
            asked("claude-sonnet-4-5", &settings)["tool_choice"],
            encoded
        );
    }
}

#[test]
fn thinking_is_asked_for_as_the_models_version_wants_it() {
    let fields = |model: &str, reasoning: Option<ReasoningEffort>, limit: Option<u32>| {
        let settings = GenerationSettings {
            reasoning,
            max_output_tokens: limit,
            temperature: Some(0.5),
            ..GenerationSettings::default()
        };
        let body = asked(model, &settings);
        let field = |name: &str| body.get(name).cloned().unwrap_or_default();
        (
            field("thinking"),
            field("output_config"),
            field("max_tokens"),
            field("temperature"),
        )
    };
    let budget = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    let (none, half) = (Value::Null, json!(0.5));
    use ReasoningEffort::{High, Low, Medium, Off};
    for (model, reasoning, limit, encoded) in [
        (
            "claude-sonnet-4-5",
            None,
            None,
            (none.clone(), none.clone(), json!(8192), half.clone()),
        ),
        (
            "claude-sonnet-4-5",
            Some(Off),
            None,
            (none.clone(), none.clone(), json!(8192), half.clone()),
        ),
        (
            "claude-sonnet-4-5",
            Some(Low),
            None,
            (budget(2048), none.clone(), json!(10_240), none.clone()),
        ),
        (
            "claude-sonnet-4-5",
            Some(Medium),
            Some(8192),
            (budget(8192), none.clone(), json!(16_384), none.clone()),
        ),
        (
            "claude-sonnet-4-5",
            Some(High),
            Some(20_000),
            (budget(16_384), none.clone(), json!(36_384), none.clone()),
        ),
        (
            "some-model",
            Some(Low),
            Some(100),
            (budget(2048), none.clone(), json!(2148), none.clone()),
        ),
        (
            "claude-opus-4-6",
            Some(High),
            None,
            (
                json!({"type": "adaptive"}),
                json!({"effort": "high"}),
                json!(24_576),
                none.clone(),
            ),
        ),
        (
            "claude-opus-4-7",
            Some(Low),
            None,
            (
                json!({"type": "adaptive", "display": "summarized"}),
                json!({"effort": "low"}),
                json!(10_240),
                none.clone(),
            ),
        ),
        (
            "claude-opus-4-7",
            None,
            None,
            (none.clone(), none.clone(), json!(8192), none.clone()),
        ),
        (
            "claude-sonnet-5",
            None,
            None,
            (none.clone(), none.clone(), json!(16_384), none.clone()),
        ),
        (
            "claude-sonnet-5",
            Some(Off),
            None,
            (json!({"type": "disabled"}), none.clone(), json!(8192), none),
        ),
    ] {
        assert_eq!(
            fields(model, reasoning, limit),
            encoded,
            "{model} {reasoning:?} {limit:?}"
        );
    }
}

#[test]
fn the_answer_gets_the_tokens_that_were_asked_for_and_thinking_its_own() {
    let tokens = |model: &str, effort: ReasoningEffort, limit: Option<u32>| {
        let settings = GenerationSettings {
            reasoning: Some(effort),
            max_output_tokens: limit,
            ..GenerationSettings::default()
        };
        let body = asked(model, &settings);
        let thinking = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
        (body["max_tokens"].as_u64().expect("a number"), thinking)
    };
    use ReasoningEffort::{High, Low, Medium, Off};
    for effort in [Off, Low, Medium, High] {
        for model in ["claude-sonnet-4-5", "claude-opus-4-6", "some-model"] {
            let mut before = 0;
            for limit in (1..70_000).step_by(97) {
                let (all, thinking) = tokens(model, effort, Some(limit));
                assert!(
                    all >= before,
                    "{model} {effort:?} {limit}: {all} after {before}"
                );
                before = all;
                // The model has 64,000, of which thinking takes at least 1,024.
                let own = u64::from(limit).min(64_000 - 1024);
                assert!(
                    all - thinking >= own,
                    "{model} {effort:?} {limit}: {all}, {thinking}"
                );
                assert!(thinking < all, "{model} {effort:?} {limit}");
            }
        }
    }
    // As far as the model goes; beyond it the provider says what it takes.
    assert_eq!(
        tokens("claude-sonnet-4-5", High, Some(50_000)),
        (64_000, 14_000)
    );
    assert_eq!(
        tokens("claude-sonnet-4-5", High, Some(64_000)),
        (64_000, 1024)
    );
    assert_eq!(tokens("claude-sonnet-4-5", High, Some(70_000)).0, 70_000);
    assert_eq!(tokens("claude-sonnet-4-5", Off, Some(64_000)), (64_000, 0));
    assert_eq!(tokens("claude-3-haiku-20240307", Off, None), (4096, 0));
}

#[test]
fn a_forced_call_leaves_no_room_for_thinking() {
    let settings = GenerationSettings {
        reasoning: Some(ReasoningEffort::High),
        tool_choice: ToolChoice::Required,
        ..GenerationSettings::default()
    };
    assert_eq!(
        asked("claude-sonnet-4-5", &settings)["thinking"],
        Value::Null
    );
    assert_eq!(
        asked("claude-sonnet-5", &settings)["thinking"],
        json!({"type": "disabled"})
    );
}

#[test]
fn a_round_of_tools_that_began_without_thinking_goes_on_without() {
    let settings = GenerationSettings {
        reasoning: Some(ReasoningEffort::Low),
        ..GenerationSettings::default()
    };
    let thinks = |messages: Value| {
        let model = endpoint("claude-sonnet-4-5");
        let request = encode(
            &model,
            None,
            messages,
            json!([{"name": "f", "description": ""}]),
            &settings,
        );
        !json_body(&request)["thinking"].is_null()
    };
    let signed =
        json!({"provider": "anthropic", "dialect": "anthropic", "value": {"signature": "s"}})
            .to_string();
    let user = json!({"id": "1", "role": "user", "content": "Hi"});
    let thought =
        json!({"id": "2", "role": "reasoning", "content": "Hm", "encryptedValue": signed});
    let called = json!({"id": "3", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let result = json!({"id": "4", "role": "tool", "toolCallId": "c", "content": "1"});
    assert!(thinks(json!([user, thought, called, result])));
    assert!(!thinks(json!([user, called, result])));
    assert!(thinks(
        json!([user, called, result, {"id": "5", "role": "assistant", "content": "So"}, user])
    ));
}

#[test]
fn a_round_of_tools_goes_on_without_its_thinking_if_the_request_has_none() {
    let signed =
        json!({"provider": "anthropic", "dialect": "anthropic", "value": {"signature": "s"}})
            .to_string();
    let thought = |id: &str| json!({"id": id, "role": "reasoning", "content": "Hm", "encryptedValue": signed});
    let called = |id: &str| {
        let call = json!({"id": format!("c{id}"), "type": "function", "function": {"name": "f", "arguments": "{}"}});
        json!({"id": id, "role": "assistant", "toolCalls": [call]})
    };
    let result = |id: &str| json!({"id": format!("r{id}"), "role": "tool", "toolCallId": format!("c{id}"), "content": "1"});
    let user = |id: &str| json!({"id": id, "role": "user", "content": "Hi"});
    let turn = |id: &str| [thought(&format!("t{id}")), called(id), result(id)];
    // Only the first answer of the turn that goes on has to think; those after it may or may not.
    let mut messages = vec![user("1")];
    messages.extend(turn("2"));
    messages.push(json!({"id": "a", "role": "assistant", "content": "So"}));
    messages.push(user("3"));
    messages.extend(turn("4"));
    messages.extend([called("5"), result("5")]);
    let kinds = |reasoning: Option<ReasoningEffort>| {
        let settings = GenerationSettings {
            reasoning,
            ..GenerationSettings::default()
        };
        let model = endpoint("claude-sonnet-4-5");
        let tools = json!([{"name": "f", "description": ""}]);
        let request = encode(
            &model,
            None,
            Value::from(messages.clone()),
            tools,
            &settings,
        );
        let validated = validate::request(Dialect::Anthropic, "anthropic", &request);
        assert_eq!(validated, Ok(()), "{reasoning:?}");
        let body = json_body(&request);
        let said = body["messages"].as_array().unwrap().iter();
        let said = said.filter(|message| message["role"] == "assistant");
        said.map(|message| message["content"][0]["type"].clone())
            .collect::<Vec<_>>()
    };
    let high = Some(ReasoningEffort::High);
    assert_eq!(kinds(high), ["thinking", "text", "thinking", "tool_use"]);
    assert_eq!(kinds(None), ["thinking", "text", "tool_use", "tool_use"]);
}

#[test]
fn marks_within_results_count_among_the_four() {
    let settings = GenerationSettings {
        cache_prompt: Some(CacheLifetime::FiveMinutes),
        ..GenerationSettings::default()
    };
    let image = json!({
        "type": "image", "metadata": {"cacheControl": {"type": "ephemeral"}},
        "source": {"type": "url", "value": "https://h/x"}
    });
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "toolCalls": [call]},
        {"id": "3", "role": "tool", "toolCallId": "c", "content": [image, image, image, image, image]}
    ]);
    let tools = json!([{"name": "f", "description": ""}]);
    let model = endpoint("claude-sonnet-4-5");
    let request = encode(&model, Some("Be brief."), messages, tools, &settings);
    let validated = validate::request(Dialect::Anthropic, "anthropic", &request);
    assert_eq!(validated, Ok(()));
    let text = json_body(&request).to_string();
    assert_eq!(text.matches("cache_control").count(), 4);
}

#[test]
fn some_json_object_is_asked_for_in_words() {
    let settings = GenerationSettings {
        response_format: ResponseFormat::Json,
        ..GenerationSettings::default()
    };
    let body = asked("m", &settings);
    assert_eq!(
        body["system"],
        json!([{"type": "text", "text": "Answer with one JSON object and nothing else."}])
    );
    assert_eq!(body["output_config"], Value::Null);
}

fn calls(all: &[(&str, &str)]) -> Value {
    let calls = all
        .iter()
        .map(|(id, arguments)| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}}));
    json!(calls.collect::<Vec<_>>())
}

#[test]
fn a_round_of_tools_is_two_turns_with_the_results_first() {
    let image = json!({"type": "image", "source": {"type": "data", "value": "QQ==", "mimeType": "image/png"}});
    let encoded = turns(json!([
        {"id": "1", "role": "user", "content": "Look"},
        {"id": "2", "role": "assistant", "content": "Let me.", "toolCalls": calls(&[("a", "{\"x\": 1}"), ("b", ""), ("c", "{\"bro")])},
        {"id": "3", "role": "tool", "toolCallId": "a", "content": "sunny"},
        {"id": "4", "role": "tool", "toolCallId": "b", "content": [{"type": "text", "text": "seen"}, image]},
        {"id": "5", "role": "tool", "toolCallId": "c", "content": "", "error": "not JSON"},
        {"id": "6", "role": "user", "content": "Also this"},
        {"id": "7", "role": "user", "content": "and that"},
    ]));
    assert_eq!(
        encoded,
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Look"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Let me."},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "f", "input": {}},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"raw": "{\"bro"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "sunny"}]},
                {"type": "tool_result", "tool_use_id": "b", "content": [
                    {"type": "text", "text": "seen"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}},
                ]},
                {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "not JSON"}], "is_error": true},
                {"type": "text", "text": "Also this"},
                {"type": "text", "text": "and that"},
            ]},
        ])
    );
}

#[test]
fn the_arguments_are_the_models_own_text() {
    let messages = json!([{"id": "2", "role": "assistant", "toolCalls": calls(&[("a", " {\"n\": 1.50, \"n\" : 12345678901234567890123} ")])}]);
    let request = encode(
        &endpoint("m"),
        None,
        messages,
        json!([]),
        &GenerationSettings::default(),
    );
    let body = String::from_utf8(request.body).expect("JSON is UTF-8");
    assert!(
        body.contains(r#""input":{"n": 1.50, "n" : 12345678901234567890123}"#),
        "{body}"
    );
}

#[test]
fn results_go_in_front_of_what_was_said_before_them() {
    let encoded = turns(json!([
        {"id": "1", "role": "assistant", "toolCalls": calls(&[("a", "{}"), ("b", "{}")])},
        {"id": "2", "role": "tool", "toolCallId": "a", "content": "1"},
        {"id": "3", "role": "user", "content": "Hurry"},
        {"id": "4", "role": "tool", "toolCallId": "b", "content": "2"},
    ]));
    let kinds: Vec<_> = encoded[1]["content"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|block| block["type"].clone())
        .collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text"]);
}

#[test]
fn thinking_goes_back_only_to_whose_it_is() {
    let sealed = |provider: &str, value: Value| {
        json!({"provider": provider, "dialect": "anthropic", "value": value}).to_string()
    };
    let reasoning = |id: &str, text: &str, value: Option<String>| {
        let mut message = json!({"id": id, "role": "reasoning", "content": text});
        if let Some(value) = value {
            message["encryptedValue"] = value.into();
        }
        message
    };
    let encoded = turns(json!([
        {"id": "0", "role": "user", "content": "Hi"},
        reasoning("1", "Hm", Some(sealed("anthropic", json!({"signature": "s1"})))),
        reasoning("2", "", Some(sealed("anthropic", json!({"redacted": "r"})))),
        reasoning("3", "", Some(sealed("anthropic", json!({"signature": "s2"})))),
        reasoning("4", "foreign", Some(sealed("bedrock", json!({"signature": "s3"})))),
        reasoning("5", "foreign", Some("s4".to_owned())),
        reasoning("6", "cut off", None),
        {"id": "7", "role": "assistant", "content": "Hello"},
        {"id": "8", "role": "user", "content": "And?"},
    ]));
    assert_eq!(
        encoded[1]["content"],
        json!([
            {"type": "thinking", "thinking": "Hm", "signature": "s1"},
            {"type": "redacted_thinking", "data": "r"},
            {"type": "thinking", "thinking": "", "signature": "s2"},
            {"type": "text", "text": "Hello"},
        ])
    );
}

#[test]
fn a_sealed_message_whose_text_was_changed_loses_nothing() {
    let value = json!([{"text": {"length": 3, "citations": [{"type": "c"}]}}, {"block": {"type": "x_tool_result"}}, {"text": {"length": 40}}]);
    let sealed =
        json!({"provider": "anthropic", "dialect": "anthropic", "value": value}).to_string();
    let encoded = |content: &str| {
        turns(
            json!([{"id": "1", "role": "assistant", "content": content, "encryptedValue": sealed}]),
        )[0]["content"]
            .take()
    };
    assert_eq!(
        encoded("abcdef"),
        json!([{"type": "text", "text": "abc", "citations": [{"type": "c"}]}, {"type": "x_tool_result"}, {"type": "text", "text": "def"}])
    );
    // The third byte is within a character.
    assert_eq!(
        encoded("abécd"),
        json!([{"type": "x_tool_result"}, {"type": "text", "text": "abécd"}])
    );
}

#[test]
fn what_says_nothing_is_left_out() {
    let encoded = turns(json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "content": " \n"},
        {"id": "3", "role": "reasoning", "content": "cut off"},
        {"id": "4", "role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "there"}]},
        {"id": "5", "role": "activity", "activityType": "a", "content": {}},
        {"id": "6", "role": "assistant", "content": "Well \n"},
    ]));
    assert_eq!(
        encoded,
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Well"}]},
        ])
    );
}

#[test]
fn instructions_are_in_one_place() {
    let request = encode(
        &endpoint("m"),
        Some("One"),
        json!([
            {"id": "1", "role": "system", "content": "Two"},
            {"id": "2", "role": "user", "content": "Hi"},
            {"id": "3", "role": "developer", "content": "Three"},
            {"id": "4", "role": "system", "content": ""},
        ]),
        json!([]),
        &GenerationSettings::default(),
    );
    let body = json_body(&request);
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        body["system"],
        json!([text("One"), text("Two"), text("Three")])
    );
    assert_eq!(
        body["messages"],
        json!([{"role": "user", "content": [text("Hi")]}])
    );
}

#[test]
fn what_a_user_attaches() {
    let part = |kind: &str, source: Value| json!({"type": kind, "source": source});
    let data = |value: &str, mime: &str| json!({"type": "data", "value": value, "mimeType": mime});
    let url = json!({"type": "url", "value": "https://h/x"});
    let file = |provider: &str| json!({"type": "file", "value": "file_1", "provider": provider});
    let mut named = part("document", data("JVBERi0=", "application/pdf"));
    named["metadata"] = json!({"filename": "a.pdf"});
    let parts = json!([
        part("image", data("QQ==", "image/png")),
        part("image", url.clone()),
        part("image", file("anthropic")),
        named,
        part("document", url.clone()),
        part("document", file("anthropic")),
        part("document", data("YSxiCg==", "text/csv")),
        part("document", data("//8=", "application/zip")),
        part("image", file("openai")),
        part("audio", url.clone()),
    ]);
    let request = encode(
        &endpoint("m"),
        None,
        json!([{"id": "1", "role": "user", "content": parts}]),
        json!([]),
        &GenerationSettings::default(),
    );
    assert_eq!(
        json_body(&request)["messages"][0]["content"],
        json!([
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}},
            {"type": "image", "source": {"type": "url", "url": "https://h/x"}},
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}, "title": "a.pdf"},
            {"type": "document", "source": {"type": "url", "url": "https://h/x"}},
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b\n"}},
            {"type": "text", "text": "[document, which cannot be shown here]"},
            {"type": "text", "text": "[image, which cannot be shown here]"},
            {"type": "text", "text": "[audio: https://h/x]"},
        ])
    );
    assert_eq!(
        headers(&request).last(),
        Some(&("anthropic-beta", "files-api-2025-04-14"))
    );
}

#[test]
fn headers_of_the_app_stand() {
    let mut endpoint = endpoint("m");
    endpoint.headers = vec![
        (
            "Anthropic-Beta".to_owned(),
            "mcp-client-2025-11-20".to_owned(),
        ),
        ("anthropic-version".to_owned(), "2030-01-01".to_owned()),
    ];
    let file = json!({"type": "image", "source": {"type": "file", "value": "f"}});
    let result = json!({"id": "1", "role": "tool", "toolCallId": "a", "content": [file]});
    let request = encode(
        &endpoint,
        None,
        json!([result]),
        json!([]),
        &GenerationSettings::default(),
    );
    assert_eq!(
        headers(&request)[3..],
        [
            (
                "Anthropic-Beta",
                "mcp-client-2025-11-20,files-api-2025-04-14"
            ),
            ("anthropic-version", "2030-01-01"),
        ]
    );
}

#[test]
fn marks_for_the_cache() {
    let mark = json!({"type": "ephemeral"});
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    let marked = |messages: Value, cache_prompt: Option<CacheLifetime>| {
        let settings = GenerationSettings {
            cache_prompt,
            ..GenerationSettings::default()
        };
        let tools = json!([{"name": "a", "description": ""}, {"name": "b", "description": ""}]);
        let body = json_body(&encode(
            &endpoint("m"),
            Some("Be brief."),
            messages,
            tools,
            &settings,
        ));
        let blocks = body["messages"].as_array().expect("a list").iter();
        let blocks = blocks.flat_map(|turn| turn["content"].as_array().expect("a list").clone());
        let all: Vec<_> = body["tools"]
            .as_array()
            .expect("a list")
            .iter()
            .cloned()
            .chain(body["system"].as_array().expect("a list").iter().cloned())
            .chain(blocks)
            .map(|block| block["cache_control"].clone())
            .collect();
        all
    };
    let none = Value::Null;
    let said = json!([
        {"id": "1", "role": "user", "content": [
            {"type": "text", "text": "long", "metadata": {"cacheControl": {"type": "ephemeral", "ttl": "1h"}}},
            {"type": "text", "text": "short"},
        ]},
        {"id": "2", "role": "assistant", "content": "A", "metadata": {"cacheControl": true}, "toolCalls": calls(&[("a", "{}")])},
        {"id": "3", "role": "tool", "toolCallId": "a", "content": "1"},
    ]);
    assert_eq!(
        marked(said.clone(), None),
        [
            none.clone(),
            none.clone(),
            none.clone(),
            hour.clone(),
            none.clone(),
            none.clone(),
            mark.clone(),
            none.clone()
        ]
    );
    // The app's two, the end, and the instructions, which are kept as long as what comes behind them.
    assert_eq!(
        marked(said, Some(CacheLifetime::FiveMinutes)),
        [
            none.clone(),
            none.clone(),
            hour.clone(),
            hour,
            none.clone(),
            none.clone(),
            mark.clone(),
            mark.clone()
        ]
    );
    let plain = json!([{"id": "1", "role": "user", "content": "Hi"}]);
    assert_eq!(
        marked(plain, Some(CacheLifetime::FiveMinutes)),
        [none, mark.clone(), mark.clone(), mark]
    );
}

#[test]
fn former_calls_have_tools_though_none_is_on_offer() {
    let messages = json!([
        {"id": "1", "role": "assistant", "toolCalls": calls(&[("a", "{}"), ("b", "{}")])},
        {"id": "2", "role": "tool", "toolCallId": "a", "content": "1"},
        {"id": "3", "role": "tool", "toolCallId": "b", "content": "2"},
    ]);
    let settings = GenerationSettings {
        tool_choice: ToolChoice::Required,
        ..GenerationSettings::default()
    };
    let body = json_body(&encode(
        &endpoint("m"),
        None,
        messages,
        json!([]),
        &settings,
    ));
    assert_eq!(
        body["tools"],
        json!([{"name": "f", "input_schema": {"type": "object"}}])
    );
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
}
