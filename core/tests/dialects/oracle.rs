//! What real servers sent, against what the official SDK makes of it. Shared by the tests of several dialects.
//!
//! The recordings lie beside the repository (`../shared`, or where `STEPWELL_SHARED` says), not in it. Without them a
//! test says that it was skipped; in CI it fails.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use stepwell_core::conversation::{Applied, Conversation};
use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::{Common, Event, EventRef};
use stepwell_core::pipeline::{Listener, Pipeline, StreamEnd, StreamError};
use stepwell_core::provider;
use stepwell_core::wire::FrameLimits;

/// One recorded stream.
pub(crate) struct Recording {
    pub(crate) name: String,
    /// The folder that it is in, which is its provider's name.
    pub(crate) provider: String,
    pub(crate) dialect: Dialect,
    pub(crate) body: Vec<u8>,
    pub(crate) expected: Value,
}

/// A recording that the official SDK is believed to read wrongly: its name, the field, and why.
pub(crate) type Wrong = (&'static str, &'static str, &'static str);

fn fixtures() -> Option<PathBuf> {
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

/// The streams of an API, in the manifest's word for it; `None` where there are no recordings at all.
pub(crate) fn recordings(api: &str) -> Option<Vec<Recording>> {
    let fixtures = fixtures()?;
    let manifest = json_file(&fixtures.join("manifest.json"));
    let entries = manifest.as_array().expect("the manifest is a list");
    let of_api = entries.iter().filter(|entry| entry["api"] == api);
    let recordings = of_api.map(|entry| {
        let name = entry["file"].as_str().expect("a file name").to_owned();
        let (folder, _) = name.split_once('/').expect("a folder");
        let path = fixtures.join("streams").join(&name);
        Recording {
            provider: folder.to_owned(),
            dialect: provider::find(folder)
                .expect("a provider")
                .api(Some(api))
                .expect("an API of its")
                .dialect,
            body: std::fs::read(&path).expect("a recording"),
            expected: json_file(&path.with_extension("expected.json")),
            name,
        }
    });
    Some(recordings.collect())
}

/// Keeps what a pipeline says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Heard {
    pub(crate) events: Vec<Event>,
    pub(crate) warnings: Vec<String>,
}

impl Listener for Heard {
    fn applied(&mut self, event: EventRef<'_>, _applied: &Applied, _conversation: &Conversation) {
        self.events.push(event.to_event());
    }

    fn moving(&mut self, _conversation: &Conversation) {}

    fn warning(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }

    fn unknown_call(&mut self, id: &str, message: &str) {
        self.warnings.push(format!("{id}: {message}"));
    }
}

/// All that comes of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) heard: Heard,
    pub(crate) conversation: Conversation,
    pub(crate) end: Result<StreamEnd, StreamError>,
}

impl Recording {
    fn pipeline(&self) -> Pipeline {
        let ids = HopIds {
            thread_id: "t".into(),
            run_id: "r".into(),
            provider: self.provider.clone(),
        };
        Pipeline::new(self.dialect, ids, FrameLimits::default())
    }

    /// Decodes it in these pieces, with a snapshot of the pipeline and its restoration between two of them.
    fn decode<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>, snapshots: bool) -> Decoded {
        let mut pipeline = self.pipeline();
        let mut heard = Heard::default();
        let mut conversation = Conversation::default();
        let mut failed = None;
        for piece in pieces {
            if let Err(error) = pipeline.receive(piece, &mut conversation, &mut heard) {
                failed = Some(error);
                break;
            }
            if snapshots {
                let snapshot = serde_json::to_vec(&pipeline).expect("a pipeline is plain data");
                pipeline = serde_json::from_slice(&snapshot).expect("a snapshot can be read");
            }
        }
        let end = match failed {
            Some(error) => Err(error),
            None => pipeline.end(&mut conversation, &mut heard),
        };
        Decoded {
            heard,
            conversation,
            end,
        }
    }

    pub(crate) fn whole(&self) -> Decoded {
        self.decode(std::iter::once(self.body.as_slice()), false)
    }
}

/// What the events amount to, in the words of the expectations.
fn outcome(decoded: &Decoded) -> Value {
    let mut text = String::new();
    let mut reasoning: Option<String> = None;
    let mut plan: Option<String> = None;
    let mut plans = Vec::new();
    let mut refusal: Option<String> = None;
    let mut calls: Vec<(String, Value, String)> = Vec::new();
    let mut stop_reason = Value::Null;
    let mut usage = Value::Null;
    let mut error = Value::Null;
    let mut end = "cut";
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
    let calls: Vec<_> = calls
        .into_iter()
        .map(|(id, name, raw)| json!({"id": id, "name": name, "arguments": arguments(&json!(raw))}))
        .collect();
    json!({
        "text": text, "reasoning": reasoning, "refusal": refusal, "tool_plan": plan, "tool_calls": calls,
        "stop_reason": stop_reason, "usage": usage, "error": error, "end": end
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
    for key in [
        "text",
        "reasoning",
        "refusal",
        "tool_plan",
        "stop_reason",
        "usage",
    ] {
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

/// Every stream decodes as the official SDK decodes it, but for the fields that are listed as wrong, which must differ.
pub(crate) fn agree_with_the_sdk(recordings: &[Recording], wrong: &[Wrong]) {
    let mut failures = Vec::new();
    for recording in recordings {
        let name = &recording.name;
        let decoded = recording.whole();
        let mut actual = outcome(&decoded);
        let mut expected = expectation(&recording.expected, &actual);
        for (_, field, reason) in wrong.iter().filter(|(file, ..)| file == name) {
            println!("{name}: {field} differs: {reason}");
            let fields = [&mut actual, &mut expected].map(|all| all[*field].take());
            assert_ne!(fields[0], fields[1], "{name}: {field} is right after all");
        }
        if decoded.end.is_err() || actual != expected || !decoded.heard.warnings.is_empty() {
            failures.push(format!(
                "{name}: {:?} {:?}\n  got  {actual}\n  want {expected}",
                decoded.end, decoded.heard.warnings
            ));
        }
        if actual["end"] == "cut" {
            println!("{name}: cut");
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Every stream may come in pieces of any size.
pub(crate) fn any_chunk_size_will_do(recordings: &[Recording]) {
    for recording in recordings {
        let whole = recording.whole();
        for size in [1, 7, 64, 1_024] {
            let decoded = recording.decode(recording.body.chunks(size), false);
            assert_eq!(decoded, whole, "{} in pieces of {size}", recording.name);
        }
    }
}

/// A snapshot and its restoration change nothing: after every byte of the smallest stream of each provider, and
/// at 100 places of the others, which are the same in every run. A provider's streams are made of the same frames, so
/// that every byte of more of them says nothing new.
pub(crate) fn any_place_will_do_for_a_snapshot(recordings: &[Recording]) {
    let mut by_provider: BTreeMap<&str, Vec<&Recording>> = BTreeMap::new();
    for recording in recordings {
        let of_provider = by_provider.entry(&recording.provider).or_default();
        of_provider.push(recording);
    }
    std::thread::scope(|scope| {
        for recordings in by_provider.values_mut() {
            scope.spawn(|| {
                recordings.sort_by_key(|recording| recording.body.len());
                for (place, recording) in recordings.iter().enumerate() {
                    let whole = recording.whole();
                    let body = recording.body.as_slice();
                    let decoded = if place == 0 {
                        recording.decode(body.chunks(1), true)
                    } else {
                        recording.decode(pieces(body, 100).into_iter(), true)
                    };
                    assert_eq!(decoded, whole, "{}", recording.name);
                }
            });
        }
    });
}

/// The body cut at this many places, which look random and are the same each time.
fn pieces(body: &[u8], cuts: usize) -> Vec<&[u8]> {
    let mut state = body.len() as u64;
    let mut places: Vec<usize> = (0..cuts)
        .map(|_| {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            usize::try_from((mixed ^ (mixed >> 31)) % body.len() as u64).expect("a place")
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    let ends = places.iter().copied().chain([body.len()]);
    let starts = [0].into_iter().chain(places.iter().copied());
    starts.zip(ends).map(|(from, to)| &body[from..to]).collect()
}
