use crate::encode::{call, encode, endpoint, messages, with};
use serde_json::{Value, json};
use stepwell_core::dialect::{GenerationSettings, ReasoningEffort, ResponseFormat, ToolChoice};

#[test]
fn a_request_in_full() {
    let settings = GenerationSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        tool_choice: ToolChoice::Required,
        parallel_tool_calls: Some(false),
        response_format: ResponseFormat::Json,
        reasoning: Some(ReasoningEffort::Low),
        ..GenerationSettings::default()
    };
    let (url, headers, body) = encode(
        &endpoint("mistral"),
        Some("Be brief."),
        json!([{"id": "1", "role": "user", "content": "Hi"}]),
        json!([{"name": "now", "description": ""}]),
        &settings,
    );
    assert_eq!(url, "https://api.mistral.ai/v1/chat/completions");
    assert_eq!(
        headers[0],
        ("authorization".to_owned(), "Bearer k".to_owned())
    );
    assert_eq!(
        body.to_string(),
        concat!(
            r#"{"model":"m-1","stream":true,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"#,
            r#""tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],"#,
            r#""tool_choice":"any","parallel_tool_calls":false,"response_format":{"type":"json_object"},"#,
            r#""reasoning_effort":"high","temperature":0.5,"max_tokens":100}"#
        )
    );
}

#[test]
fn a_tool_may_be_named_or_none_wanted() {
    let choose = |tool_choice| {
        let settings = GenerationSettings {
            tool_choice,
            ..GenerationSettings::default()
        };
        let tools = json!([{"name": "f", "description": ""}]);
        with(&endpoint("mistral"), &settings, tools)["tool_choice"].take()
    };
    assert_eq!(choose(ToolChoice::Auto), Value::Null);
    assert_eq!(choose(ToolChoice::None), "none");
    assert_eq!(
        choose(ToolChoice::Named("f".to_owned())),
        json!({"type": "function", "function": {"name": "f"}})
    );
}

#[test]
fn magistral_thinks_by_its_prompt() {
    let mut magistral = endpoint("mistral");
    magistral.model = "magistral-small-latest".to_owned();
    let body = |endpoint, effort| {
        let settings = GenerationSettings {
            reasoning: Some(effort),
            ..GenerationSettings::default()
        };
        with(endpoint, &settings, json!([]))
    };
    let on = body(&magistral, ReasoningEffort::Medium);
    assert_eq!(on["prompt_mode"], "reasoning");
    assert_eq!(on.get("reasoning_effort"), None);
    let off = body(&magistral, ReasoningEffort::Off);
    assert_eq!(off.get("prompt_mode"), Some(&Value::Null));
    let other = body(&endpoint("mistral"), ReasoningEffort::Off);
    assert_eq!(other["reasoning_effort"], "none");
}

#[test]
fn thoughts_go_back_as_parts_and_results_with_their_names() {
    let said = json!([
        {"id": "1", "role": "developer", "content": "D"},
        {"id": "2", "role": "user", "content": "Hi"},
        {"id": "3", "role": "reasoning", "content": "Hm"},
        {"id": "4", "role": "assistant", "content": "Let me"},
        {"id": "5", "role": "assistant", "toolCalls": [call("aaaaaaaaa", ""), call("bbbbbbbbb", "{\"x")]},
        {"id": "6", "role": "tool", "toolCallId": "aaaaaaaaa", "content": "1"},
        {"id": "7", "role": "tool", "toolCallId": "bbbbbbbbb", "content": "", "error": "Broke"},
        {"id": "8", "role": "assistant", "content": "So"},
        {"id": "9", "role": "assistant", "content": "far"},
        {"id": "10", "role": "reasoning", "content": "alone"},
        {"id": "11", "role": "user", "content": "Go on"},
        {"id": "12", "role": "assistant", "toolCalls": [call("ccccccccc", "{}")]},
    ]);
    let function = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let thought = |text: &str| json!({"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": true});
    assert_eq!(
        messages(&endpoint("mistral"), said),
        json!([
            {"role": "system", "content": "D"},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [thought("Hm"), {"type": "text", "text": "Let me"}], "tool_calls": [
                function("aaaaaaaaa", "{}"), function("bbbbbbbbb", "{\"raw\":\"{\\\"x\"}"),
            ]},
            {"role": "tool", "tool_call_id": "aaaaaaaaa", "name": "f", "content": "1"},
            {"role": "tool", "tool_call_id": "bbbbbbbbb", "name": "f", "content": r#"{"error":"Broke"}"#},
            {"role": "assistant", "content": [
                {"type": "text", "text": "So"}, {"type": "text", "text": "far"}, thought("alone"),
            ]},
            {"role": "user", "content": "Go on"},
            {"role": "assistant", "content": "", "tool_calls": [function("ccccccccc", "{}")]},
        ])
    );
}

#[test]
fn a_message_that_ends_the_history_is_gone_on_with() {
    let said = json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "content": "Once upon"},
        {"id": "3", "role": "assistant", "content": "a time"},
    ]);
    assert_eq!(
        messages(&endpoint("mistral"), said)[1],
        json!({"role": "assistant", "content": "Once upon\n\na time", "prefix": true})
    );
}

#[test]
fn attachments_are_parts_as_far_as_the_format_has_them() {
    let data = |kind: &str, mime: &str| json!({"type": kind, "source": {"type": "data", "value": "QQ==", "mimeType": mime}});
    let url = |kind: &str| json!({"type": kind, "source": {"type": "url", "value": "https://x/y"}});
    let file = |kind: &str| json!({"type": kind, "source": {"type": "file", "value": "f-1"}});
    let mut named = data("document", "application/pdf");
    named["metadata"] = json!({"filename": "a.pdf"});
    let said = json!([{"id": "1", "role": "user", "content": [
        {"type": "text", "text": "Look"}, url("image"), data("image", "image/png"), url("audio"),
        data("audio", "audio/mpeg"), url("document"), named, file("document"), file("image"), url("video"),
    ]}]);
    assert_eq!(
        messages(&endpoint("mistral"), said),
        json!([{"role": "user", "content": [
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": "https://x/y"},
            {"type": "image_url", "image_url": "data:image/png;base64,QQ=="},
            {"type": "input_audio", "input_audio": "https://x/y"},
            {"type": "input_audio", "input_audio": "QQ=="},
            {"type": "document_url", "document_url": "https://x/y"},
            {"type": "document_url", "document_url": "data:application/pdf;base64,QQ==", "document_name": "a.pdf"},
            {"type": "file", "file_id": "f-1"},
            {"type": "file", "file_id": "f-1"},
            {"type": "text", "text": "[video: https://x/y]"},
        ]}])
    );
}
