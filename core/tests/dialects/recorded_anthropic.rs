//! What the real service sent, against what the official SDK makes of it.
//!
//! The recordings lie beside the repository (`../shared`, or where `STEPWELL_SHARED` says), not in it. Without them the
//! test says that it was skipped; in CI it fails.

use crate::anthropic::support::{Recorder, Stream, ids};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use stepwell_core::conversation::{Applied, Conversation};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Common, Event, EventRef};
use stepwell_core::pipeline::{Listener, Pipeline, StreamEnd};

/// Where the expectation is wrong: the file, a place in the expectation, what is there, and what should be.
const WRONG: [(&str, &str, &str, &str); 1] = [
    // The SDK's stable client gathers the input of `tool_use` and `server_tool_use` blocks alone, so that it loses what
    // the stream says in `input_json_delta`s for an `mcp_tool_use`.
    (
        "anthropic/pyai-anthropic-mcp-servers-stream.sse",
        "/server_tools/0/input",
        "{}",
        r#"{"repoName":"pydantic/pydantic-ai","question":"What is this repository about? What are its main features and purpose?"}"#,
    ),
];

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

/// The streams, the smallest first: name, body, what the SDK makes of it.
fn streams(fixtures: &Path) -> Vec<(String, Vec<u8>, Value)> {
    let manifest = json_file(&fixtures.join("manifest.json"));
    let entries = manifest.as_array().expect("the manifest is a list").iter();
    let mut streams: Vec<_> = entries
        .filter(|entry| entry["api"] == "messages")
        .map(|entry| {
            let name = entry["file"].as_str().expect("a file name").to_owned();
            let path = fixtures.join("streams").join(&name);
            let body = std::fs::read(&path).expect("a recording");
            let mut expected = json_file(&path.with_extension("expected.json"));
            for (_, place, wrong, right) in WRONG.iter().filter(|(file, ..)| *file == name) {
                let value = expected.pointer_mut(place).expect("a place");
                assert_eq!(value.to_string(), *wrong, "{name} is no longer wrong");
                *value = serde_json::from_str(right).expect("JSON");
            }
            (name, body, expected)
        })
        .collect();
    assert!(streams.len() > 16, "only {} streams", streams.len());
    streams.sort_by_key(|(_, body, _)| body.len());
    streams
}

/// What the events amount to, in the words of the expectations.
fn outcome(events: &[Event]) -> Value {
    let mut text = String::new();
    let mut reasoning: Option<String> = None;
    let mut calls: Vec<(String, Value, String)> = Vec::new();
    let mut server_tools = Vec::new();
    let mut end = json!({"stop_reason": null, "usage": null, "error": null});
    let stop = |common: &Option<Box<Common>>| {
        let metadata = common.as_ref().and_then(|common| common.metadata.as_ref());
        metadata.map(|metadata| metadata["stopReason"].clone())
    };
    for event in events {
        match event {
            Event::TextMessageContent(event) => text.push_str(&event.delta),
            Event::ReasoningMessageContent(event) => {
                reasoning.get_or_insert_default().push_str(&event.delta);
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
                call.expect("a call that has begun")
                    .2
                    .push_str(&event.delta);
            }
            Event::RunFinished(event) => {
                end["stop_reason"] = stop(&event.common).unwrap_or_default();
                if let Some([usage]) = event.usage.as_deref() {
                    end["usage"] =
                        json!({"input": usage.input_tokens, "output": usage.output_tokens});
                }
            }
            Event::RunError(event) => {
                end["stop_reason"] = stop(&event.common).unwrap_or_default();
                end["error"] = json!(event.message);
            }
            _ => {}
        }
    }
    let calls: Vec<_> = calls
        .into_iter()
        .map(|(id, name, raw)| {
            let arguments = if raw.is_empty() { "{}" } else { raw.as_str() };
            let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| json!(raw));
            json!({"id": id, "name": name, "arguments": arguments})
        })
        .collect();
    end["text"] = json!(text);
    end["reasoning"] = json!(reasoning);
    end["tool_calls"] = json!(calls);
    end["server_tools"] = json!(server_tools);
    end
}

/// The expectation in the same form.
fn expectation(expected: &Value) -> Value {
    json!({
        "text": expected["text"], "reasoning": expected["reasoning"], "tool_calls": expected["tool_calls"],
        "server_tools": expected.get("server_tools").cloned().unwrap_or(json!([])),
        "stop_reason": expected["stop_reason"], "usage": expected["usage"],
        "error": expected["error"]["message"],
    })
}

#[test]
fn recorded_streams_decode_as_the_official_sdk_decodes_them() {
    let Some(fixtures) = recordings() else { return };
    let mut wrong = Vec::new();
    for (name, body, expected) in streams(&fixtures) {
        let (recorder, result) = Stream::new(Dialect::Anthropic).run(&body, usize::MAX);
        let (actual, expected) = (outcome(&recorder.events), expectation(&expected));
        if result.is_err() || actual != expected || !recorder.warnings.is_empty() {
            wrong.push(format!(
                "{name}: {result:?} {:?}\n  got  {actual}\n  want {expected}",
                recorder.warnings
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn i03_recorded_streams_may_be_cut_anywhere() {
    let Some(fixtures) = recordings() else { return };
    for (name, body, _) in streams(&fixtures) {
        let whole = Stream::new(Dialect::Anthropic).run(&body, usize::MAX);
        for size in [1, 7, 64, 1_024] {
            assert_eq!(
                Stream::new(Dialect::Anthropic).run(&body, size),
                whole,
                "{name}: {size}"
            );
        }
        let mut stream = Stream::new(Dialect::Anthropic);
        stream.without_templates = true;
        assert_eq!(stream.run(&body, 1_000), whole, "{name}: without templates");
    }
}

/// Keeps the events of a pipeline.
#[derive(Default)]
struct Heard(Recorder);

impl Listener for Heard {
    fn applied(&mut self, event: EventRef<'_>, _: &Applied, _: &Conversation) {
        self.0.events.push(event.to_event());
    }

    fn moving(&mut self, _: &Conversation) {}

    fn warning(&mut self, message: &str) {
        self.0.warnings.push(message.to_owned());
    }

    fn unknown_call(&mut self, id: &str, _: &str) {
        panic!("an unknown call {id}");
    }
}

/// Takes the body in pieces of these sizes, over and over, with a snapshot after each.
fn revived(body: &[u8], sizes: &[usize]) -> (Recorder, Conversation) {
    let mut pipeline = Pipeline::new(Dialect::Anthropic, ids(), Default::default());
    let mut conversation = Conversation::default();
    let mut heard = Heard::default();
    let mut rest = body;
    for size in sizes.iter().cycle() {
        let (chunk, behind) = rest.split_at((*size).min(rest.len()));
        pipeline
            .receive(chunk, &mut conversation, &mut heard)
            .expect("a recorded stream");
        let snapshot = serde_json::to_string(&pipeline).expect("a pipeline is plain data");
        pipeline = serde_json::from_str(&snapshot).expect("a snapshot can be read");
        if behind.is_empty() {
            break;
        }
        rest = behind;
    }
    let end = pipeline.end(&mut conversation, &mut heard);
    assert_eq!(end, Ok(StreamEnd::Finished));
    (heard.0, conversation)
}

#[test]
fn i04_recorded_streams_may_be_revived_anywhere() {
    let Some(fixtures) = recordings() else { return };
    for (place, (name, body, expected)) in streams(&fixtures).into_iter().enumerate() {
        // Every byte of the three smallest, and some 200 places of the others: they are made of the same frames.
        let rough = [body.len() / 250 + 1, body.len() / 150 + 3, 1];
        let sizes: &[usize] = if place < 3 { &[1] } else { &rough };
        let (recorder, conversation) = revived(&body, sizes);
        let (whole, _) = Stream::new(Dialect::Anthropic).run(&body, usize::MAX);
        assert_eq!(recorder, whole, "{name}");
        assert_eq!(json!(conversation.text()), expected["text"], "{name}");
    }
}
