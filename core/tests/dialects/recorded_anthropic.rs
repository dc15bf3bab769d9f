//! Recorded streams of Anthropic, against what the official SDK makes of them.

use crate::anthropic::support::Stream;
use crate::oracle::Recording;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Common, Event};
use stepwell_core::pipeline::StreamEnd;

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

fn recordings() -> Option<Vec<Recording>> {
    let mut recordings = crate::oracle::recordings("messages")?;
    assert!(recordings.len() > 16, "only {}", recordings.len());
    for Recording { name, expected, .. } in &mut recordings {
        for (_, place, wrong, right) in WRONG.iter().filter(|(file, ..)| file == name) {
            let value = expected.pointer_mut(place).expect("a place");
            assert_eq!(value.to_string(), *wrong, "{name} is no longer wrong");
            *value = serde_json::from_str(right).expect("JSON");
        }
    }
    Some(recordings)
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
    let mut wrong = Vec::new();
    for recording in recordings().unwrap_or_default() {
        let name = &recording.name;
        let decoded = recording.whole();
        let actual = outcome(&decoded.heard.events);
        let expected = expectation(&recording.expected);
        let finished = decoded.end == Ok(StreamEnd::Finished);
        if !finished || actual != expected || !decoded.heard.warnings.is_empty() {
            wrong.push(format!(
                "{name}: {:?} {:?}\n  got  {actual}\n  want {expected}",
                decoded.end, decoded.heard.warnings
            ));
        }
        assert_eq!(
            json!(decoded.conversation.text()),
            expected["text"],
            "{name}"
        );
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
fn recorded_streams_read_the_same_without_templates() {
    for Recording { name, body, .. } in recordings().unwrap_or_default() {
        let whole = Stream::new(Dialect::Anthropic).run(&body, usize::MAX);
        let mut stream = Stream::new(Dialect::Anthropic);
        stream.without_templates = true;
        assert_eq!(stream.run(&body, 1_000), whole, "{name}");
    }
}
