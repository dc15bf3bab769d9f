//! Frames as the service sends them, and what becomes of them.

use crate::chat::{Recorder, Stream, body, short};
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};

pub(crate) fn start() -> Value {
    json!({"id": "a1", "type": "message-start", "delta": {"message": {
        "role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}}})
}

pub(crate) fn content(kind: &str, index: u64, content: Value) -> Value {
    let mut event = json!({"type": kind, "index": index});
    event["delta"]["message"]["content"] = content;
    event
}

pub(crate) fn text(piece: &str) -> Value {
    content("content-delta", 0, json!({"text": piece}))
}

pub(crate) fn thinking(piece: &str) -> Value {
    content("content-delta", 0, json!({"thinking": piece}))
}

pub(crate) fn plan(piece: &str) -> Value {
    json!({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}})
}

pub(crate) fn call_start(index: u64, id: &str, name: &str) -> Value {
    json!({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": {
        "id": id, "type": "function", "function": {"name": name, "arguments": ""}}}}})
}

pub(crate) fn arguments(index: u64, piece: Value) -> Value {
    let mut event = json!({"type": "tool-call-delta", "index": index});
    event["delta"]["message"]["tool_calls"]["function"]["arguments"] = piece;
    event
}

pub(crate) fn call_end(index: u64) -> Value {
    json!({"type": "tool-call-end", "index": index})
}

pub(crate) fn end(reason: &str) -> Value {
    json!({"type": "message-end", "delta": {"finish_reason": reason, "usage": {
        "billed_units": {"input_tokens": 3, "output_tokens": 4}, "tokens": {"input_tokens": 30.0, "output_tokens": 5},
        "cached_tokens": 16}}})
}

pub(crate) fn decode(body: &[u8]) -> (Recorder, Result<(), DecodeError>) {
    Stream::new(Dialect::Cohere).run(body, usize::MAX)
}

/// The events of these frames, in short, but for the first.
pub(crate) fn outline(frames: &[Value]) -> Vec<String> {
    let (recorder, result) = decode(body(frames).as_bytes());
    assert_eq!(result, Ok(()), "{frames:?}");
    assert_eq!(recorder.warnings, Vec::<String>::new());
    let mut lines: Vec<_> = recorder.events.iter().map(short).collect();
    assert_eq!(lines.remove(0), "start", "{frames:?}");
    lines
}
