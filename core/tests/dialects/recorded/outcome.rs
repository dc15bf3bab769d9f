//! What comes of a stream and what the SDK makes of it, in one form.

use super::{Decoded, Recording};
use serde_json::{Value, json};
use stepwell_core::event::{Common, Event};

/// Where the decoder's form is another on purpose: a custom tool's input is free text, and the arguments of a call are a
/// JSON object in AG-UI, so the text is the field `input` of one.
const FREE_TEXT: [&str; 1] = ["openai/responses-vercel-custom-tool-1.sse"];

/// What the events amount to, in the words of the expectations.
pub(super) fn outcome(recording: &Recording, decoded: &Decoded) -> Value {
    let mut text = String::new();
    let mut reasoning: Option<String> = None;
    let mut plan: Option<String> = None;
    let mut plans = Vec::new();
    let mut refusal: Option<String> = None;
    let mut calls: Vec<(String, Value, String)> = Vec::new();
    let mut server_tools = Vec::new();
    let mut signatures = 0;
    let mut all = json!({"stop_reason": null, "usage": null, "error": null, "end": "cut"});
    let metadata = |common: &Option<Box<Common>>, key: &str| {
        let metadata = common.as_ref().and_then(|common| common.metadata.clone());
        metadata.unwrap_or_default().remove(key).unwrap_or_default()
    };
    for event in &decoded.heard.events {
        match event {
            Event::TextMessageContent(event) => text.push_str(&event.delta),
            Event::ReasoningMessageStart(event) if metadata(&event.common, "toolPlan") == true => {
                plans.push(event.message_id.clone());
            }
            Event::ReasoningMessageContent(event) => {
                let is_plan = plans.contains(&event.message_id);
                let said = if is_plan { &mut plan } else { &mut reasoning };
                said.get_or_insert_default().push_str(&event.delta);
            }
            Event::ReasoningEncryptedValue(event) => {
                let is_call = calls.iter().any(|call| call.0 == event.entity_id);
                let is_signature = event.encrypted_value.contains("thoughtSignature");
                signatures += u64::from(is_call && is_signature);
            }
            Event::Custom(event) if event.name == "refusal" => {
                let piece = event.value.as_str().expect("text");
                refusal.get_or_insert_default().push_str(piece);
            }
            Event::Custom(event) if event.name == "server_tool_use" => {
                let field = |name: &str| event.value[name].clone();
                server_tools.push(json!({
                    "type": field("type"), "id": field("id"), "name": field("name"), "input": field("input")
                }));
            }
            Event::ToolCallStart(event) => calls.push((
                event.tool_call_id.to_string(),
                json!(event.tool_call_name),
                String::new(),
            )),
            Event::ToolCallArgs(event) => {
                let mut calls = calls.iter_mut();
                let call = calls.find(|call| event.tool_call_id == call.0.as_str());
                let call = call.expect("a call that has begun");
                call.2.push_str(&event.delta);
            }
            Event::RunFinished(event) => {
                all["end"] = json!("finished");
                all["stop_reason"] = metadata(&event.common, "stopReason");
                if let Some([usage]) = event.usage.as_deref() {
                    all["usage"] =
                        json!({"input": usage.input_tokens, "output": usage.output_tokens});
                }
            }
            Event::RunError(event) => {
                all["end"] = json!("failed");
                all["stop_reason"] = metadata(&event.common, "stopReason");
                all["error"] = json!(event.message);
            }
            _ => {}
        }
    }
    let calls = calls.into_iter().map(|(id, name, raw)| {
        let arguments = match recording.api {
            "responses" => json!(raw),
            _ => arguments(&json!(raw)),
        };
        json!({"id": id, "name": name, "arguments": arguments})
    });
    all["text"] = json!(text);
    all["reasoning"] = json!(reasoning);
    all["tool_calls"] = calls.collect();
    // What the expectations of an API say nothing of is not compared.
    match recording.api {
        "messages" => all["server_tools"] = json!(server_tools),
        "generateContent" | "ollama-chat" => all["thought_signatures"] = json!(signatures),
        "responses" => all["refusal"] = json!(refusal),
        _ => {
            all["refusal"] = json!(refusal);
            all["tool_plan"] = json!(plan);
        }
    }
    all
}

/// Arguments parsed, or as they are where they cannot be; the ways of saying "none" are one.
fn arguments(raw: &Value) -> Value {
    match raw {
        Value::String(text) if text.trim().is_empty() => json!({}),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Null) => json!({}),
            Ok(value) => value,
            Err(_) => raw.clone(),
        },
        Value::Null => json!({}),
        value => value.clone(),
    }
}

/// The expectation in the same form.
pub(super) fn expectation(recording: &Recording, actual: &Value) -> Value {
    let expected = &recording.expected;
    let listed = expected["tool_calls"].as_array().expect("a list");
    let call = |(index, call): (usize, &Value)| {
        let oracle = expected["oracle"].as_str().unwrap_or_default();
        let id = match &call["id"] {
            Value::Null if oracle.starts_with("ollama") => {
                actual["tool_calls"][index]["id"].clone()
            }
            // Where the wire has no id, the decoder makes one.
            Value::Null => json!(format!("r-call-{index}")),
            id => id.clone(),
        };
        let raw = &call["raw_arguments"];
        let arguments = match recording.api {
            "responses" if FREE_TEXT.contains(&&*recording.name) => {
                json!(json!({ "input": raw }).to_string())
            }
            "responses" => raw.clone(),
            _ => arguments(&call["arguments"]),
        };
        json!({"id": id, "name": call["name"], "arguments": arguments})
    };
    let failed = !expected["error"].is_null();
    let mut all = json!({});
    for key in actual.as_object().expect("an object").keys() {
        all[key] = expected[key].clone();
    }
    all["tool_calls"] = listed.iter().enumerate().map(call).collect();
    all["error"] = expected["error"]["message"].clone();
    all["end"] = match (failed, recording.api) {
        (true, _) => json!("failed"),
        // The SDK does not say whether the body was cut.
        (false, "chat" | "v2chat") => actual["end"].clone(),
        (false, _) => json!("finished"),
    };
    if expected["usage"]["input"].is_null() && expected["usage"]["output"].is_null() {
        all["usage"] = Value::Null;
    }
    for (key, none) in [
        ("server_tools", json!([])),
        ("thought_signatures", json!(0)),
    ] {
        if actual.get(key).is_some() && all[key].is_null() {
            all[key] = none;
        }
    }
    all
}
