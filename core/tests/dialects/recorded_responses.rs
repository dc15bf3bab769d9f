//! What real servers that speak Responses sent, against what the official SDK makes of it.
//!
//! The recordings lie beside the repository (`../shared`, or where `STEPWELL_SHARED` says), not in it. Without them the
//! test says that it was skipped; in CI it fails.

use crate::chat::{Recorder, ids};
use crate::responses::stream;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Common, Event};
use stepwell_core::pipeline::Pipeline;

/// Where the decoder's form is another on purpose: a custom tool's input is free text, and the arguments of a call are a
/// JSON object in AG-UI, so the text is the field `input` of one.
const FREE_TEXT: [&str; 1] = ["openai/responses-vercel-custom-tool-1.sse"];

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

/// The streams: name, body, what the SDK makes of it.
fn streams(fixtures: &Path) -> Vec<(String, Vec<u8>, Value)> {
    let manifest = json_file(&fixtures.join("manifest.json"));
    let streams: Vec<_> = manifest
        .as_array()
        .expect("the manifest is a list")
        .iter()
        .filter(|entry| entry["api"] == "responses")
        .map(|entry| {
            let name = entry["file"].as_str().expect("a file name").to_owned();
            let path = fixtures.join("streams").join(&name);
            let body = std::fs::read(&path).expect("a recording");
            let expected = json_file(&path.with_extension("expected.json"));
            (name, body, expected)
        })
        .collect();
    assert!(streams.len() >= 14, "only {} streams", streams.len());
    streams
}

/// What the events amount to, in the words of the expectations.
fn outcome(recorder: &Recorder) -> Value {
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
    for event in &recorder.events {
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
    let Some(fixtures) = recordings() else { return };
    let mut wrong = Vec::new();
    for (name, body, expected) in streams(&fixtures) {
        let expected = expectation(&name, &expected);
        for size in [usize::MAX, 1, 7, 64, 1_024] {
            let (recorder, result) = stream().run(&body, size);
            let actual = outcome(&recorder);
            if result.is_err() || actual != expected || !recorder.warnings.is_empty() {
                wrong.push(format!(
                    "{name} in pieces of {size}: {result:?} {:?}\n  got  {actual}\n  want {expected}",
                    recorder.warnings
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn i03_recorded_streams_may_be_cut_anywhere() {
    let Some(fixtures) = recordings() else { return };
    for (name, body, _) in streams(&fixtures) {
        let whole = stream().run(&body, usize::MAX);
        for size in [1, 7, 64, 1_024] {
            assert_eq!(
                stream().run(&body, size),
                whole,
                "{name} in pieces of {size}"
            );
        }
    }
}

#[test]
fn i04_a_snapshot_after_every_recorded_frame_changes_nothing() {
    let Some(fixtures) = recordings() else { return };
    for (name, body, _) in streams(&fixtures) {
        let whole = stream().run(&body, usize::MAX);
        let mut stream = stream();
        stream.snapshots = true;
        assert_eq!(stream.run(&body, usize::MAX), whole, "{name}");
    }
}

/// The conversation after a body with snapshots of the pipeline behind the bytes that `is_snapshot` names.
fn conversation(body: &[u8], is_snapshot: impl Fn(usize) -> bool) -> Conversation {
    let mut pipeline = Pipeline::new(
        Dialect::OpenAiResponses,
        ids(Dialect::OpenAiResponses),
        Default::default(),
    );
    let mut conversation = Conversation::default();
    let mut from = 0;
    for at in (0..=body.len()).filter(|&at| is_snapshot(at)) {
        pipeline
            .receive(&body[from..at], &mut conversation, &mut ())
            .expect("a good stream");
        let snapshot = serde_json::to_string(&pipeline).expect("plain data");
        pipeline = serde_json::from_str(&snapshot).expect("a snapshot can be read");
        from = at;
    }
    pipeline
        .receive(&body[from..], &mut conversation, &mut ())
        .expect("a good stream");
    pipeline
        .end(&mut conversation, &mut ())
        .expect("a good end");
    conversation
}

#[test]
fn i04_a_snapshot_at_every_byte_changes_nothing() {
    let Some(fixtures) = recordings() else { return };
    let mut streams = streams(&fixtures);
    streams.sort_by_key(|(_, body, _)| body.len());
    std::thread::scope(|scope| {
        for (place, (name, body, _)) in streams.iter().enumerate() {
            scope.spawn(move || {
                let whole = conversation(body, |_| false);
                // The three smallest at every byte, the others, of the same frames, at some two hundred.
                let step = if place < 3 { 1 } else { (body.len() / 200) | 1 };
                let other = conversation(body, |at| at % step == 0);
                assert_eq!(other.messages(), whole.messages(), "{name}");
            });
        }
    });
}

#[test]
fn recorded_streams_read_the_same_without_templates() {
    let Some(fixtures) = recordings() else { return };
    for (name, body, _) in streams(&fixtures) {
        let whole = stream().run(&body, usize::MAX);
        let mut stream = stream();
        stream.without_templates = true;
        assert_eq!(stream.run(&body, usize::MAX), whole, "{name}");
    }
}
