//! Tools that the provider runs itself stand beside the app's.

use crate::encode::endpoint;
use crate::legal::targets;
use crate::validate;
use serde_json::{Value, json};
use stepwell_core::Timestamp;
use stepwell_core::dialect::{Endpoint, GenerationSettings, ResponseFormat, ToolChoice};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::provider;
use stepwell_core::run::{Output, RunConfig, RunEvent, RunMachine, Start};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;

fn settings(own: Value) -> GenerationSettings {
    let mut settings = GenerationSettings::default();
    settings.extra.insert("tools".to_owned(), own);
    settings
}

fn offered() -> Vec<ToolDefinition> {
    serde_json::from_value(json!([{"name": "find", "description": ""}])).expect("AG-UI tools")
}

fn of_api(provider: &str, api: &str) -> Endpoint {
    provider::find(provider)
        .expect("a known provider")
        .endpoint(Some(api), "m-1", None, Some("k".into()))
        .expect("complete")
}

fn gemini(model: &str) -> Endpoint {
    Endpoint {
        model: model.to_owned(),
        ..endpoint("gemini")
    }
}

/// The body of a request, which the provider takes.
fn request(
    endpoint: &Endpoint,
    messages: Value,
    tools: &[ToolDefinition],
    settings: &GenerationSettings,
) -> Value {
    let messages: Vec<Message> = serde_json::from_value(messages).expect("AG-UI messages");
    let request = targets::encode(endpoint, &messages, tools, settings);
    let checked = validate::request(endpoint.dialect, &endpoint.provider, &request);
    assert_eq!(checked, Ok(()), "{}", endpoint.provider);
    serde_json::from_slice(&request.body).expect("JSON")
}

fn said() -> Value {
    json!([{"id": "1", "role": "user", "content": "Hi"}])
}

/// The kinds or names of what a request offers.
fn kinds(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let kind = |tool: &Value| {
        let keys = tool
            .as_object()
            .and_then(|tool| tool.keys().next().cloned());
        let named = [&tool["name"], &tool["function"]["name"], &tool["type"]];
        let named = named.into_iter().find_map(Value::as_str);
        named.map(str::to_owned).or(keys).unwrap_or_default()
    };
    tools.iter().map(kind).collect()
}

#[test]
fn they_come_behind_the_apps_in_every_format() {
    let search = json!([{"type": "web_search"}]);
    for endpoint in [
        endpoint("openai"),
        endpoint("mistral"),
        endpoint("cohere"),
        endpoint("ollama"),
        of_api("openai", "responses"),
    ] {
        let body = request(&endpoint, said(), &offered(), &settings(search.clone()));
        assert_eq!(
            kinds(&body),
            ["find", "web_search"],
            "{}",
            endpoint.provider
        );
        let alone = request(&endpoint, said(), &[], &settings(search.clone()));
        assert_eq!(kinds(&alone), ["web_search"], "{}", endpoint.provider);
    }
    let search = json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}]);
    let body = request(
        &endpoint("anthropic"),
        said(),
        &offered(),
        &settings(search.clone()),
    );
    assert_eq!(kinds(&body), ["find", "web_search"]);
    assert_eq!(body["tools"][1], search[0]);
    let search = json!([{"googleSearch": {}}]);
    let body = request(
        &gemini("gemini-3-pro"),
        said(),
        &offered(),
        &settings(search.clone()),
    );
    assert_eq!(kinds(&body), ["functionDeclarations", "googleSearch"]);
    assert_eq!(body["tools"][1], search[0]);
}

#[test]
fn of_two_of_one_name_the_providers_is_offered() {
    let own = json!([{"type": "web_search_20250305", "name": "find"}]);
    let body = request(
        &endpoint("anthropic"),
        said(),
        &offered(),
        &settings(own.clone()),
    );
    assert_eq!(body["tools"], own);
    let parameters = json!({"type": "object", "properties": {}});
    let own = json!([{"type": "function", "function": {"name": "find", "parameters": parameters}}]);
    let body = request(
        &endpoint("openai"),
        said(),
        &offered(),
        &settings(own.clone()),
    );
    assert_eq!(body["tools"], own);
    let own = json!([{"functionDeclarations": [{"name": "find"}]}]);
    let body = request(
        &gemini("gemini-2.5-flash"),
        said(),
        &offered(),
        &settings(own.clone()),
    );
    assert_eq!(body["tools"], own);
}

#[test]
fn what_is_no_list_takes_the_place_of_the_apps() {
    let find = json!([{"name": "find", "description": ""}]);
    let body = crate::encode::with(&endpoint("openai"), &settings(Value::Null), find);
    assert_eq!(body["tools"], Value::Null);
}

#[test]
fn gemini_is_told_that_both_kinds_are_meant() {
    let mut settings = settings(json!([{"googleSearch": {}}]));
    let config = |endpoint: &Endpoint, settings: &GenerationSettings, tools: &[ToolDefinition]| {
        request(endpoint, said(), tools, settings)["toolConfig"].take()
    };
    let third = gemini("gemini-3-pro");
    let told = json!({"includeServerSideToolInvocations": true});
    assert_eq!(config(&third, &settings, &offered()), told);
    assert_eq!(config(&third, &settings, &[]), Value::Null);
    let vertex = Endpoint {
        base_url:
            "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google"
                .to_owned(),
        ..third.clone()
    };
    assert_eq!(config(&vertex, &settings, &offered()), Value::Null);
    settings.tool_choice = ToolChoice::Named("find".to_owned());
    let own = json!({"includeServerSideToolInvocations": false, "retrievalConfig": {"languageCode": "de"}});
    settings.extra.insert("toolConfig".to_owned(), own);
    assert_eq!(
        config(&third, &settings, &offered()),
        json!({
            "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["find"]},
            "includeServerSideToolInvocations": false,
            "retrievalConfig": {"languageCode": "de"},
        }),
        "the app's own words win"
    );
}

#[test]
fn before_its_third_generation_gemini_is_not_offered_both() {
    let endpoint = gemini("gemini-2.5-flash");
    let own = settings(json!([{"googleSearch": {}}]));
    let body = request(&endpoint, said(), &offered(), &own);
    assert_eq!(body["tools"], json!([{"googleSearch": {}}]));
    assert_eq!(body["toolConfig"], Value::Null);
    let form = GenerationSettings {
        response_format: ResponseFormat::Json,
        ..own.clone()
    };
    let body = request(&endpoint, said(), &[], &form);
    assert_eq!(
        body["generationConfig"],
        Value::Null,
        "the form is asked for in words"
    );

    let mut config = RunConfig::new(endpoint);
    config.settings = own;
    let tool = Tool::new("find", "");
    config.tools.add(tool).expect("a name of its own");
    let mut machine = RunMachine::new(config.into(), "t".into(), Transcript::default());
    let start = Start::new("r", Message::user("1", "Hi"));
    machine.start(start, Timestamp(0)).expect("it is idle");
    let warnings: Vec<_> = std::iter::from_fn(|| machine.poll_output())
        .filter_map(|output| match output {
            Output::Event(RunEvent::Warning { message }) => Some(message),
            _ => None,
        })
        .collect();
    assert_eq!(
        warnings,
        [
            "the tool `find` is not offered: before its third generation Gemini takes none beside those that it runs \
          itself, and the app's own field `tools` has one"
        ]
    );
}

#[test]
fn anthropic_is_not_offered_what_was_called_once_where_it_has_tools_of_its_own() {
    let history = json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "toolCalls": [crate::encode::call("c", "{}")]},
        {"id": "3", "role": "tool", "toolCallId": "c", "content": "1"},
        {"id": "4", "role": "user", "content": "And now?"},
    ]);
    let own = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    let body = request(&endpoint("anthropic"), history, &[], &settings(own.clone()));
    assert_eq!(body["tools"], own);
    assert_eq!(body["tool_choice"], Value::Null, "it may be called");
}
