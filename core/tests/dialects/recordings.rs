//! What real servers sent, against what the official SDK makes of it.
//!
//! The recordings lie beside the repository (`../shared`, or where `STEPWELL_SHARED` says), not in it. Without them the
//! tests say that they were skipped; in CI they fail.

use crate::decoding::{Recorder, Stream};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::{Common, Event};
use stepwell_core::pipeline::Pipeline;

/// A recorded body.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) body: Vec<u8>,
    /// What the SDK makes of it.
    pub(crate) expected: Value,
}

/// The recordings of one API; `None` where there are no recordings at all.
pub(crate) fn recordings(api: &str) -> Option<Vec<Recording>> {
    let shared = std::env::var_os("STEPWELL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let fixtures = shared.join("fixtures");
    if !fixtures.join("manifest.json").exists() {
        assert!(
            std::env::var_os("CI").is_none(),
            "no recordings at {}: set STEPWELL_SHARED",
            fixtures.display()
        );
        eprintln!("SKIPPED: no recordings at {}", fixtures.display());
        return None;
    }
    let manifest = json_file(&fixtures.join("manifest.json"));
    let of_api = manifest.as_array().expect("a list").iter();
    let recordings = of_api
        .filter(|entry| entry["api"] == api)
        .map(|entry| {
            let name = entry["file"].as_str().expect("a file name").to_owned();
            let path = fixtures.join("streams").join(&name);
            let body = std::fs::read(&path).expect("a recording");
            let expected = json_file(&path.with_extension("expected.json"));
            Recording {
                name,
                body,
                expected,
            }
        })
        .collect();
    Some(recordings)
}

fn json_file(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

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
pub(crate) fn assert_all_decode(dialect: Dialect, recordings: &[Recording]) {
    for Recording {
        name,
        body,
        expected,
    } in recordings
    {
        let whole = Stream::new(dialect).run(body, usize::MAX);
        assert_eq!(whole.1, Ok(()), "{name}");
        assert_eq!(whole.0.warnings, Vec::<String>::new(), "{name}");
        let actual = outcome(&whole.0);
        assert_eq!(actual, expectation(expected, &actual), "{name}");
        for size in [1, 7, 64, 1_024] {
            let cut = Stream::new(dialect).run(body, size);
            assert_eq!(cut, whole, "{name} in pieces of {size}");
        }
        let mut stream = Stream::new(dialect);
        stream.without_templates = true;
        assert_eq!(
            stream.run(body, usize::MAX),
            whole,
            "{name} without templates"
        );
    }
}

/// The ten smallest recordings give the same conversation with a snapshot and its restoration after every byte of their
/// beginning and end, and after one in 31 between: what is decoded so far is in each snapshot, so that one after every
/// byte takes as long as the square of the stream. The frames between are like those before, and since their lengths are
/// no multiples of 31 it falls on other bytes of each.
pub(crate) fn assert_snapshots_change_nothing(dialect: Dialect, mut recordings: Vec<Recording>) {
    recordings.sort_by_key(|recording| recording.body.len());
    for Recording { name, body, .. } in recordings.iter().take(10) {
        let ids = HopIds {
            run_id: "r".into(),
            ..HopIds::default()
        };
        let mut plain = (
            Pipeline::new(dialect, ids.clone(), Default::default()),
            Conversation::default(),
        );
        plain.0.receive(body, &mut plain.1, &mut ()).expect(name);
        let end = plain.0.end(&mut plain.1, &mut ()).expect(name);

        let mut restored = Pipeline::new(dialect, ids, Default::default());
        let mut conversation = Conversation::default();
        for (at, byte) in body.iter().enumerate() {
            restored
                .receive(std::slice::from_ref(byte), &mut conversation, &mut ())
                .expect(name);
            let is_edge = at < 256 || body.len() - at < 256;
            if !is_edge && at % 31 != 0 {
                continue;
            }
            let snapshot = serde_json::to_vec(&restored).expect("plain data");
            restored = serde_json::from_slice(&snapshot).expect("a snapshot can be read");
        }
        assert_eq!(restored.end(&mut conversation, &mut ()), Ok(end), "{name}");
        assert_eq!(conversation, plain.1, "{name}");
    }
}
