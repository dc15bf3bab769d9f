//! What real servers sent in Gemini's and in Ollama's own formats, against what the official SDKs make of it.

use crate::decoding::{Recorder, Stream};
use crate::oracle::Recording;
use serde_json::{Value, json};
use stepwell_core::event::{Common, Event};

/// What the events amount to, in the words of the expectations.
fn outcome(recorder: &Recorder) -> Value {
    let mut text = String::new();
    let mut reasoning: Option<String> = None;
    let mut calls: Vec<(String, Value, String)> = Vec::new();
    let mut signed = 0;
    let mut stop_reason = Value::Null;
    let mut usage = json!({"input": null, "output": null});
    let mut error = Value::Null;
    let mut end = "cut";
    let stop = |common: &Option<Box<Common>>| {
        let metadata = common.as_ref().and_then(|common| common.metadata.clone());
        metadata
            .unwrap_or_default()
            .remove("stopReason")
            .unwrap_or_default()
    };
    for event in &recorder.events {
        match event {
            Event::TextMessageContent(event) => text.push_str(&event.delta),
            Event::ReasoningMessageContent(event) => {
                reasoning.get_or_insert_default().push_str(&event.delta);
            }
            Event::ToolCallStart(event) => calls.push((
                event.tool_call_id.to_string(),
                json!(event.tool_call_name),
                String::new(),
            )),
            Event::ToolCallArgs(event) => {
                let call = calls
                    .iter_mut()
                    .find(|call| event.tool_call_id == call.0.as_str());
                call.expect("a call that has begun")
                    .2
                    .push_str(&event.delta);
            }
            Event::ReasoningEncryptedValue(event) => {
                let is_call = calls.iter().any(|call| call.0 == event.entity_id);
                if is_call && event.encrypted_value.contains("thoughtSignature") {
                    signed += 1;
                }
            }
            Event::RunFinished(event) => {
                end = "finished";
                stop_reason = stop(&event.common);
                if let Some([of_model]) = event.usage.as_deref() {
                    usage =
                        json!({"input": of_model.input_tokens, "output": of_model.output_tokens});
                }
            }
            Event::RunError(event) => {
                end = "failed";
                stop_reason = stop(&event.common);
                error = json!(event.message);
            }
            _ => {}
        }
    }
    let calls: Vec<_> = calls
        .into_iter()
        .map(|(id, name, raw)| json!({"id": id, "name": name, "arguments": arguments(&raw)}))
        .collect();
    json!({
        "text": text, "reasoning": reasoning, "tool_calls": calls, "thought_signatures": signed,
        "stop_reason": stop_reason, "usage": usage, "error": error, "end": end
    })
}

fn arguments(raw: &str) -> Value {
    if raw.is_empty() {
        return json!({});
    }
    serde_json::from_str(raw).unwrap_or_else(|_| json!(raw))
}

/// The expectation in the same form. An id that the SDK does not show is a made one, or as the wire has it.
fn expectation(expected: &Value, actual: &Value) -> Value {
    let calls: Vec<_> = expected["tool_calls"]
        .as_array()
        .expect("a list")
        .iter()
        .zip(0..)
        .map(|(call, index)| {
            let id = match &call["id"] {
                Value::Null
                    if expected["oracle"]
                        .as_str()
                        .is_some_and(|oracle| oracle.starts_with("ollama")) =>
                {
                    actual["tool_calls"][index]["id"].clone()
                }
                Value::Null => json!(format!("r-call-{index}")),
                id => id.clone(),
            };
            json!({"id": id, "name": call["name"], "arguments": call["arguments"]})
        })
        .collect();
    let failed = !expected["error"].is_null();
    json!({
        "text": expected["text"], "reasoning": expected["reasoning"], "tool_calls": calls,
        "thought_signatures": expected["thought_signatures"].as_u64().unwrap_or(0),
        "stop_reason": expected["stop_reason"], "usage": expected["usage"],
        "error": expected["error"]["message"], "end": if failed { "failed" } else { "finished" }
    })
}

/// All recordings decode as the SDK decodes them, whole and cut anywhere, with and without templates.
pub(crate) fn assert_all_decode(recordings: &[Recording]) {
    for Recording {
        name,
        dialect,
        body,
        expected,
        ..
    } in recordings
    {
        let whole = Stream::new(*dialect).run(body, usize::MAX);
        assert_eq!(whole.1, Ok(()), "{name}");
        assert_eq!(whole.0.warnings, Vec::<String>::new(), "{name}");
        let actual = outcome(&whole.0);
        assert_eq!(actual, expectation(expected, &actual), "{name}");
        for size in [1, 7, 64, 1_024] {
            let cut = Stream::new(*dialect).run(body, size);
            assert_eq!(cut, whole, "{name} in pieces of {size}");
        }
        let mut stream = Stream::new(*dialect);
        stream.without_templates = true;
        assert_eq!(
            stream.run(body, usize::MAX),
            whole,
            "{name} without templates"
        );
    }
}
