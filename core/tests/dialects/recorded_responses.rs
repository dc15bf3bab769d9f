//! Recorded streams of Responses, against what the official SDK makes of them.

use crate::oracle::Recording;
use crate::responses::stream;
use serde_json::{Value, json};
use stepwell_core::event::{Common, Event};

/// Where the decoder's form is another on purpose: a custom tool's input is free text, and the arguments of a call are a
/// JSON object in AG-UI, so the text is the field `input` of one.
const FREE_TEXT: [&str; 1] = ["openai/responses-vercel-custom-tool-1.sse"];

fn recordings() -> Option<Vec<Recording>> {
    let recordings = crate::oracle::recordings("responses")?;
    assert!(recordings.len() >= 14, "only {}", recordings.len());
    Some(recordings)
}

/// What the events amount to, in the words of the expectations.
fn outcome(events: &[Event]) -> Value {
    let mut text = String::new();
    let mut reasoning: Option<String> = None;
    let mut refusal: Option<String> = None;
    let mut kept_refusal = Value::Null;
    let mut calls: Vec<(String, Value, String)> = Vec::new();
    let mut stop_reason = Value::Null;
    let mut usage = Value::Null;
    let mut error = Value::Null;
    let mut end = "cut";
    let metadata = |common: &Option<Box<Common>>, key: &str| {
        let metadata = common.as_ref().and_then(|common| common.metadata.clone());
        metadata.unwrap_or_default().remove(key).unwrap_or_default()
    };
    for event in events {
        match event {
            Event::TextMessageContent(event) => text.push_str(&event.delta),
            Event::TextMessageEnd(event) => kept_refusal = metadata(&event.common, "refusal"),
            Event::ReasoningMessageContent(event) => {
                reasoning.get_or_insert_default().push_str(&event.delta);
            }
            Event::Custom(event) if event.name == "refusal" => {
                refusal
                    .get_or_insert_default()
                    .push_str(event.value.as_str().expect("text"));
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
            Event::RunFinished(event) => {
                end = "finished";
                stop_reason = metadata(&event.common, "stopReason");
                if let Some([usage_of_model]) = event.usage.as_deref() {
                    usage = json!({"input": usage_of_model.input_tokens, "output": usage_of_model.output_tokens});
                }
            }
            Event::RunError(event) => {
                end = "failed";
                stop_reason = metadata(&event.common, "stopReason");
                error = json!(event.message);
            }
            _ => {}
        }
    }
    assert_eq!(kept_refusal, json!(refusal), "what is said is kept");
    let calls: Vec<_> = calls
        .into_iter()
        .map(|(id, name, raw)| json!({"id": id, "name": name, "arguments": raw}))
        .collect();
    json!({
        "text": text, "reasoning": reasoning, "refusal": refusal, "tool_calls": calls, "stop_reason": stop_reason,
        "usage": usage, "error": error, "end": end
    })
}

/// The expectation in the same form.
fn expectation(name: &str, expected: &Value) -> Value {
    let calls: Vec<_> = expected["tool_calls"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|call| {
            let raw = &call["raw_arguments"];
            let raw = if FREE_TEXT.contains(&name) {
                json!(json!({ "input": raw }).to_string())
            } else {
                raw.clone()
            };
            json!({"id": call["id"], "name": call["name"], "arguments": raw})
        })
        .collect();
    let failed = !expected["error"].is_null();
    let end = if failed { "failed" } else { "finished" };
    json!({
        "text": expected["text"], "reasoning": expected["reasoning"], "refusal": expected["refusal"],
        "tool_calls": calls, "stop_reason": expected["stop_reason"], "usage": expected["usage"],
        "error": expected["error"]["message"], "end": end
    })
}

#[test]
fn recorded_streams_decode_as_the_official_sdk_decodes_them() {
    let mut wrong = Vec::new();
    for recording in recordings().unwrap_or_default() {
        let name = &recording.name;
        let decoded = recording.whole();
        let actual = outcome(&decoded.heard.events);
        let expected = expectation(name, &recording.expected);
        if decoded.end.is_err() || actual != expected || !decoded.heard.warnings.is_empty() {
            wrong.push(format!(
                "{name}: {:?} {:?}\n  got  {actual}\n  want {expected}",
                decoded.end, decoded.heard.warnings
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn i03_recorded_streams_may_be_cut_anywhere() {
    if let Some(recordings) = recordings() {
        crate::oracle::any_chunk_size_will_do(&recordings);
    }
}

#[test]
fn i04_a_snapshot_anywhere_in_a_recorded_stream_changes_nothing() {
    if let Some(recordings) = recordings() {
        crate::oracle::any_place_will_do_for_a_snapshot(&recordings);
    }
}

#[test]
fn i04_a_snapshot_after_every_recorded_frame_changes_nothing() {
    for Recording { name, body, .. } in recordings().unwrap_or_default() {
        let whole = stream().run(&body, usize::MAX);
        let mut stream = stream();
        stream.snapshots = true;
        assert_eq!(stream.run(&body, usize::MAX), whole, "{name}");
    }
}

#[test]
fn recorded_streams_read_the_same_without_templates() {
    for Recording { name, body, .. } in recordings().unwrap_or_default() {
        let whole = stream().run(&body, usize::MAX);
        let mut stream = stream();
        stream.without_templates = true;
        assert_eq!(stream.run(&body, usize::MAX), whole, "{name}");
    }
}
