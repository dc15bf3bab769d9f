//! Decoding a Responses body and looking at what came of it.

pub(crate) use crate::chat::short;
use crate::chat::{Recorder, Stream, ids};
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect, HopIds};
use stepwell_core::event::Event;

fn hop_ids() -> HopIds {
    HopIds {
        provider: "openai".to_owned(),
        ..ids(Dialect::OpenAiResponses)
    }
}

/// A framer and the decoder.
pub(crate) fn stream() -> Stream {
    Stream::with(Dialect::OpenAiResponses, hop_ids())
}

/// A body of these events, each under its type's name; a string stands for itself.
pub(crate) fn body(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| match event {
            Value::String(text) => format!("data: {text}\n\n"),
            event => {
                let name = event["type"].as_str().unwrap_or("message");
                format!("event: {name}\ndata: {event}\n\n")
            }
        })
        .collect()
}

pub(crate) fn run(body: &str) -> (Recorder, Result<(), DecodeError>) {
    stream().run(body.as_bytes(), usize::MAX)
}

/// The events of a body that decodes.
pub(crate) fn events(frames: &[Value]) -> Vec<Event> {
    let (recorder, result) = run(&body(frames));
    assert_eq!(result, Ok(()), "{frames:?}");
    assert_eq!(recorder.warnings, Vec::<String>::new());
    recorder.events
}

/// The events in short, without sealed values.
pub(crate) fn outline(frames: &[Value]) -> Vec<String> {
    events(frames)
        .iter()
        .map(|event| match event {
            Event::ReasoningEncryptedValue(event) => format!("sealed {}", event.entity_id),
            event => short(event),
        })
        .collect()
}

/// The outline of an answer that begins before these events and is complete after them, without start and finish.
pub(crate) fn said(frames: &[Value]) -> Vec<String> {
    let mut all = vec![created()];
    all.extend_from_slice(frames);
    all.push(completed(json!([])));
    let mut outline = outline(&all);
    assert_eq!(outline.remove(0), "start");
    assert_eq!(outline.pop().as_deref(), Some("finish completed"));
    outline
}

pub(crate) fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "model": "m-1", "status": "in_progress", "output": []}})
}

pub(crate) fn completed(output: Value) -> Value {
    let mut event = json!({"type": "response.completed", "response": {
        "id": "resp_1", "model": "m-1", "status": "completed", "error": null, "incomplete_details": null,
        "usage": {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 6, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 16,
        },
    }});
    event["response"]["output"] = output;
    event
}

pub(crate) fn added(index: u64, item: Value) -> Value {
    of_item("added", index, item)
}

pub(crate) fn done(index: u64, item: Value) -> Value {
    of_item("done", index, item)
}

fn of_item(what: &str, index: u64, item: Value) -> Value {
    let mut event = json!({"type": format!("response.output_item.{what}"), "output_index": index});
    event["item"] = item;
    event
}

pub(crate) fn text_delta(index: u64, delta: &str) -> Value {
    json!({
        "type": "response.output_text.delta", "content_index": 0, "delta": delta, "item_id": format!("msg_{index}"),
        "logprobs": [], "obfuscation": "x", "output_index": index, "sequence_number": 7,
    })
}

pub(crate) fn summary_delta(index: u64, part: u64, delta: &str) -> Value {
    json!({
        "type": "response.reasoning_summary_text.delta", "delta": delta, "item_id": format!("rs_{index}"),
        "output_index": index, "summary_index": part, "sequence_number": 7,
    })
}

pub(crate) fn arguments_delta(index: u64, delta: &str) -> Value {
    json!({
        "type": "response.function_call_arguments.delta", "delta": delta, "item_id": format!("fc_{index}"),
        "output_index": index, "sequence_number": 7,
    })
}

pub(crate) fn message(index: u64, text: &str) -> Value {
    let content = if text.is_empty() {
        json!([])
    } else {
        json!([{"type": "output_text", "text": text, "annotations": []}])
    };
    json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant", "content": content})
}

pub(crate) fn reasoning(index: u64, parts: &[&str]) -> Value {
    let summary: Vec<_> = parts
        .iter()
        .map(|text| json!({"type": "summary_text", "text": text}))
        .collect();
    json!({"type": "reasoning", "id": format!("rs_{index}"), "summary": summary, "encrypted_content": "gAAA"})
}

pub(crate) fn call(index: u64, arguments: &str) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{index}"), "call_id": format!("call_{index}"), "name": "add",
        "arguments": arguments,
    })
}
