use crate::encode::{call, encode, endpoint, messages, with};
use serde_json::{Value, json};
use stepwell_core::dialect::{GenerationSettings, ReasoningEffort, ResponseFormat, ToolChoice};

#[test]
fn a_request_in_full() {
    let settings = GenerationSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        tool_choice: ToolChoice::Named("now".to_owned()),
        reasoning: Some(ReasoningEffort::Low),
        ..GenerationSettings::default()
    };
    let (url, headers, body) = encode(
        &endpoint("cohere"),
        Some("Be brief."),
        json!([{"id": "1", "role": "user", "content": "Hi"}]),
        json!([{"name": "add", "description": "Adds."}, {"name": "now", "description": "Tells."}]),
        &settings,
    );
    assert_eq!(url, "https://api.cohere.com/v2/chat");
    assert_eq!(
        headers[0],
        ("authorization".to_owned(), "Bearer k".to_owned())
    );
    assert_eq!(
        body.to_string(),
        concat!(
            r#"{"model":"m-1","stream":true,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"#,
            r#""tools":[{"type":"function","function":{"name":"now","description":"Tells.","parameters":{"type":"object","properties":{}}}}],"#,
            r#""tool_choice":"REQUIRED","thinking":{"type":"enabled","token_budget":1024},"max_tokens":100,"temperature":0.5}"#
        )
    );
}

#[test]
fn tool_choice_has_two_words() {
    let tools = || json!([{"name": "f", "description": ""}]);
    let choose = |tool_choice| {
        let settings = GenerationSettings {
            tool_choice,
            ..GenerationSettings::default()
        };
        with(&endpoint("cohere"), &settings, tools())["tool_choice"].take()
    };
    assert_eq!(choose(ToolChoice::Auto), Value::Null);
    assert_eq!(choose(ToolChoice::None), "NONE");
    assert_eq!(choose(ToolChoice::Required), "REQUIRED");
}

#[test]
fn a_form_of_the_answer() {
    let schema = json!({"type": "object"});
    let settings = GenerationSettings {
        response_format: ResponseFormat::Schema {
            name: "n".to_owned(),
            schema: schema.clone(),
            strict: true,
        },
        reasoning: Some(ReasoningEffort::Off),
        ..GenerationSettings::default()
    };
    let body = with(&endpoint("cohere"), &settings, json!([]));
    assert_eq!(
        body["response_format"],
        json!({"type": "json_object", "json_schema": schema})
    );
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
}

#[test]
fn plans_go_back_with_their_calls_and_thinking_within_its_turn() {
    let plan = |id: &str, text: &str| json!({"id": id, "role": "reasoning", "content": text, "metadata": {"toolPlan": true}});
    let said = json!([
        {"id": "1", "role": "developer", "content": "D"},
        {"id": "2", "role": "user", "content": "Hi"},
        {"id": "3", "role": "reasoning", "content": "Old thought"},
        {"id": "4", "role": "assistant", "content": "A"},
        plan("5", "A plan without calls"),
        {"id": "6", "role": "user", "content": "Go"},
        {"id": "7", "role": "reasoning", "content": "Hm"},
        plan("8", "I will look"),
        {"id": "9", "role": "assistant", "toolCalls": [call("a", "null"), call("b", "{\"x\": 1}"), call("c", "{\"x")]},
        {"id": "10", "role": "tool", "toolCallId": "a", "content": "1"},
        {"id": "11", "role": "tool", "toolCallId": "b", "content": "", "error": "Broke"},
        {"id": "12", "role": "tool", "toolCallId": "c", "content": [
            {"type": "text", "id": "doc", "text": "{\"n\": 1}"}, {"type": "text", "text": "plain"}, {"type": "text", "text": "[1]"},
        ]},
    ]);
    let function = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let document = |data: Value| json!({"type": "document", "document": {"data": data}});
    assert_eq!(
        messages(&endpoint("cohere"), said),
        json!([
            {"role": "system", "content": "D"},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "text", "text": "A"}]},
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm"}], "tool_plan": "I will look", "tool_calls": [
                function("a", "{}"), function("b", "{\"x\": 1}"), function("c", "{\"raw\":\"{\\\"x\"}"),
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": r#"{"error":"Broke"}"#},
            {"role": "tool", "tool_call_id": "c", "content": [
                {"type": "document", "document": {"data": {"n": 1}, "id": "doc"}},
                document(json!({"text": "plain"})),
                document(json!({"text": "[1]"})),
            ]},
        ])
    );
}

#[test]
fn images_are_parts_and_the_rest_is_words() {
    let said = json!([{"id": "1", "role": "user", "content": [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": {"type": "url", "value": "https://x/y"}},
        {"type": "image", "source": {"type": "data", "value": "QQ==", "mimeType": "image/png"}},
        {"type": "document", "source": {"type": "url", "value": "https://x/z"}},
    ]}]);
    assert_eq!(
        messages(&endpoint("cohere"), said),
        json!([{"role": "user", "content": [
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": "https://x/y"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}},
            {"type": "text", "text": "[document: https://x/z]"},
        ]}])
    );
}
