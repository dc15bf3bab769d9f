//! Decoding a body and looking at what came of it.

pub(crate) use crate::stream::{Recorder, Stream, ids};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Event;

/// A body of these frames, as `data:` lines.
pub(crate) fn body(frames: &[Value]) -> String {
    frames
        .iter()
        .map(|frame| match frame {
            Value::String(text) => format!("data: {text}\n\n"),
            frame => format!("data: {frame}\n\n"),
        })
        .collect()
}

/// The events of a body that decodes.
pub(crate) fn events(body: &str) -> Vec<Event> {
    let (recorder, result) = Stream::new(Dialect::OpenAiChat).run(body.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()), "{body}");
    assert_eq!(recorder.warnings, Vec::<String>::new());
    recorder.events
}

/// The events of these frames and `[DONE]`, in short: the type's own words and what they carry.
pub(crate) fn outline(frames: &[Value]) -> Vec<String> {
    let mut frames = frames.to_vec();
    frames.push(json!("[DONE]"));
    events(&body(&frames)).iter().map(short).collect()
}

/// An event in a few words.
pub(crate) fn short(event: &Event) -> String {
    let mut text = match event {
        Event::TextMessageContent(event) => format!("text {}: {}", event.message_id, event.delta),
        Event::ReasoningMessageContent(event) => {
            format!("reasoning {}: {}", event.message_id, event.delta)
        }
        Event::ToolCallStart(event) => {
            format!("call {} {}", event.tool_call_id, event.tool_call_name)
        }
        Event::ToolCallArgs(event) => format!("args {}: {}", event.tool_call_id, event.delta),
        Event::ToolCallEnd(event) => format!("call end {}", event.tool_call_id),
        Event::TextMessageStart(event) => format!("text start {}", event.message_id),
        Event::TextMessageEnd(event) => format!("text end {}", event.message_id),
        Event::ReasoningStart(event) => format!("span {}", event.message_id),
        Event::ReasoningEnd(event) => format!("span end {}", event.message_id),
        Event::ReasoningMessageStart(event) => format!("reasoning start {}", event.message_id),
        Event::ReasoningMessageEnd(event) => format!("reasoning end {}", event.message_id),
        Event::ReasoningEncryptedValue(event) => {
            format!("encrypted {}: {}", event.entity_id, event.encrypted_value)
        }
        Event::Custom(event) => format!("custom {}: {}", event.name, event.value),
        Event::RunStarted(_) => "start".to_owned(),
        Event::RunFinished(_) => "finish".to_owned(),
        Event::RunError(event) => format!(
            "error {}: {}",
            event.code.as_deref().unwrap_or("-"),
            event.message
        ),
        other => other.kind().to_owned(),
    };
    if let Some(metadata) = event.common().and_then(|common| common.metadata.as_ref()) {
        match metadata.get("stopReason").and_then(Value::as_str) {
            Some(reason) => text.push_str(&format!(" {reason}")),
            None => text.push_str(&format!(" {}", json!(metadata))),
        }
    }
    text
}

/// A chunk whose one choice has this delta.
pub(crate) fn delta(delta: Value) -> Value {
    let mut chunk = json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
        "choices": [{"index": 0, "delta": null, "logprobs": null, "finish_reason": null}],
        "usage": null
    });
    chunk["choices"][0]["delta"] = delta;
    chunk
}

/// A chunk with a piece of text.
pub(crate) fn text(content: &str) -> Value {
    delta(json!({ "content": content }))
}

/// A chunk with fragments of calls.
pub(crate) fn calls(fragments: Value) -> Value {
    let mut said = json!({});
    said["tool_calls"] = fragments;
    delta(said)
}

/// The chunk that says why the answer ends.
pub(crate) fn finish(reason: &str) -> Value {
    json!({"model": "m-1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}
