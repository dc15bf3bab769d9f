//! What real servers sent, against what the official SDK makes of it.
//!
//! The recordings lie beside the repository (`../shared`, or where `STEPWELL_SHARED` says), not in it. Without them the
//! test says that it was skipped; in CI it fails.

#[path = "support/chat.rs"]
mod chat;

use chat::{Recorder, Stream};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use stepwell_core::event::{Common, Event};

fn recordings() -> Option<PathBuf> {
    let shared = std::env::var_os("STEPWELL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let fixtures = shared.join("fixtures");
    if fixtures.join("manifest.json").exists() {
        return Some(fixtures);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "no recordings at {}: set STEPWELL_SHARED",
        fixtures.display()
    );
    eprintln!("SKIPPED: no recordings at {}", fixtures.display());
    None
}

fn json_file(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The chat streams: name, body, what the SDK makes of it.
fn chat_streams(fixtures: &Path) -> Vec<(String, Vec<u8>, Value)> {
    let manifest = json_file(&fixtures.join("manifest.json"));
    let streams: Vec<_> = manifest
        .as_array()
        .expect("the manifest is a list")
        .iter()
        .filter(|entry| entry["api"] == "chat")
        .map(|entry| {
            let name = entry["file"].as_str().expect("a file name").to_owned();
            let path = fixtures.join("streams").join(&name);
            let body = std::fs::read(&path).expect("a recording");
            let expected = json_file(&path.with_extension("expected.json"));
            (name, body, expected)
        })
        .collect();
    assert!(streams.len() > 50, "only {} chat streams", streams.len());
    streams
}

/// What the events amount to, in the words of the expectations.
fn outcome(recorder: &Recorder) -> Value {
    let mut text = String::new();
    let mut reasoning: Option<String> = None;
    let mut refusal: Option<String> = None;
    let mut calls: Vec<(String, Value, String)> = Vec::new();
    let mut stop_reason = Value::Null;
    let mut usage = Value::Null;
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
                stop_reason = stop(&event.common);
                if let Some([usage_of_model]) = event.usage.as_deref() {
                    usage = json!({"input": usage_of_model.input_tokens, "output": usage_of_model.output_tokens});
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
        .map(|(id, name, raw)| json!({"id": id, "name": name, "arguments": arguments(&json!(raw))}))
        .collect();
    json!({
        "text": text, "reasoning": reasoning, "refusal": refusal, "tool_calls": calls, "stop_reason": stop_reason,
        "usage": usage, "error": error, "end": end
    })
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
fn expectation(expected: &Value, actual: &Value) -> Value {
    let calls: Vec<_> = expected["tool_calls"]
        .as_array()
        .expect("a list")
        .iter()
        .zip(0..)
        .map(|(call, index)| {
            // Where the wire has no id, the decoder makes one.
            let id = match &call["id"] {
                Value::Null => json!(format!("r-call-{index}")),
                id => id.clone(),
            };
            json!({"id": id, "name": call["name"], "arguments": arguments(&call["arguments"])})
        })
        .collect();
    let failed = !expected["error"].is_null();
    let end = match (failed, actual["end"].as_str()) {
        (true, _) => json!("failed"),
        // The SDK does not say whether the body was cut.
        (false, _) => actual["end"].clone(),
    };
    let mut whole = Map::new();
    for key in ["text", "reasoning", "refusal", "stop_reason", "usage"] {
        whole.insert(key.to_owned(), expected[key].clone());
    }
    whole.insert("tool_calls".to_owned(), json!(calls));
    whole.insert(
        "error".to_owned(),
        if failed {
            expected["error"]["message"].clone()
        } else {
            Value::Null
        },
    );
    whole.insert("end".to_owned(), end);
    Value::Object(whole)
}

#[test]
fn recorded_streams_decode_as_the_official_sdk_decodes_them() {
    let Some(fixtures) = recordings() else { return };
    let mut wrong = Vec::new();
    for (name, body, expected) in chat_streams(&fixtures) {
        let (recorder, result) = Stream::new().run(&body, usize::MAX);
        let actual = outcome(&recorder);
        let expected = expectation(&expected, &actual);
        if result.is_err() || actual != expected || !recorder.warnings.is_empty() {
            wrong.push(format!(
                "{name}: {result:?} {:?}\n  got  {actual}\n  want {expected}",
                recorder.warnings
            ));
        }
        if actual["end"] == "cut" {
            println!("{name}: cut");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn i03_recorded_streams_may_be_cut_anywhere() {
    let Some(fixtures) = recordings() else { return };
    for (name, body, _) in chat_streams(&fixtures) {
        let whole = Stream::new().run(&body, usize::MAX);
        for size in [1, 7, 1_024] {
            assert_eq!(
                Stream::new().run(&body, size),
                whole,
                "{name} in pieces of {size}"
            );
        }
    }
}

#[test]
fn i04_a_snapshot_after_every_recorded_frame_changes_nothing() {
    let Some(fixtures) = recordings() else { return };
    for (name, body, _) in chat_streams(&fixtures) {
        let whole = Stream::new().run(&body, usize::MAX);
        let mut stream = Stream::new();
        stream.snapshots = true;
        assert_eq!(stream.run(&body, usize::MAX), whole, "{name}");
    }
}

#[test]
fn both_ways_into_the_decoder_agree_on_recorded_frames() {
    let Some(fixtures) = recordings() else { return };
    for (name, body, _) in chat_streams(&fixtures) {
        let whole = Stream::new().run(&body, usize::MAX);
        let mut stream = Stream::new();
        stream.without_cursor = true;
        assert_eq!(stream.run(&body, usize::MAX), whole, "{name}");
    }
}
