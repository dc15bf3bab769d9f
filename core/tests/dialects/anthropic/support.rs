//! Decoding a body and looking at what came of it.

pub(crate) use crate::stream::Stream;
use serde_json::{Value, json};
use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::Event;

pub(crate) fn ids() -> HopIds {
    crate::stream::ids(Dialect::Anthropic)
}

/// A body of these events, each with its name.
pub(crate) fn body(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| match event {
            Value::String(text) => format!("event: data\ndata: {text}\n\n"),
            event => format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap_or("none")
            ),
        })
        .collect()
}

/// The events of a body that decodes.
pub(crate) fn events(body: &str) -> Vec<Event> {
    let (recorder, result) = Stream::new(Dialect::Anthropic).run(body.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()), "{body}");
    assert_eq!(recorder.warnings, Vec::<String>::new());
    recorder.events
}

/// What comes of these wire events between the start of a message and its end, in short.
pub(crate) fn outline(wire: &[Value]) -> Vec<String> {
    let mut all = vec![start()];
    all.extend(wire.iter().cloned());
    all.push(stop("end_turn"));
    all.push(json!({"type": "message_stop"}));
    let events = events(&body(&all));
    assert_eq!(short(&events[0]), "start");
    assert_eq!(short(events.last().expect("an end")), "finish end_turn");
    events[1..events.len() - 1].iter().map(short).collect()
}

/// An event in a few words.
pub(crate) fn short(event: &Event) -> String {
    let mut text = match event {
        Event::TextMessageContent(event) => format!("text {}: {}", event.message_id, event.delta),
        Event::ReasoningMessageContent(event) => {
            format!("reasoning {}: {}", event.message_id, event.delta)
        }
        Event::ToolCallStart(event) => format!(
            "call {} {} of {}",
            event.tool_call_id,
            event.tool_call_name,
            event.parent_message_id.as_ref().expect("a parent")
        ),
        Event::ToolCallArgs(event) => format!("args {}: {}", event.tool_call_id, event.delta),
        Event::ToolCallEnd(event) => format!("call end {}", event.tool_call_id),
        Event::TextMessageStart(event) => format!("text start {}", event.message_id),
        Event::TextMessageEnd(event) => format!("text end {}", event.message_id),
        Event::ReasoningMessageStart(event) => format!("reasoning start {}", event.message_id),
        Event::ReasoningMessageEnd(event) => format!("reasoning end {}", event.message_id),
        Event::ReasoningStart(_) => "span".to_owned(),
        Event::ReasoningEnd(_) => "span end".to_owned(),
        Event::ReasoningEncryptedValue(event) => {
            let sealed: Value = serde_json::from_str(&event.encrypted_value).expect("JSON");
            assert_eq!(
                (&sealed["provider"], &sealed["dialect"]),
                (&json!("anthropic"), &json!("anthropic"))
            );
            format!("sealed {}: {}", event.entity_id, sealed["value"])
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
    if let Some(reason) = event.common().and_then(|common| common.metadata.as_ref()) {
        text.push_str(&format!(
            " {}",
            reason["stopReason"].as_str().unwrap_or("?")
        ));
    }
    text
}

pub(crate) fn start() -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-1", "content": [], "stop_reason": null,
        "usage": {"input_tokens": 7, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 3, "output_tokens": 1}
    }})
}

pub(crate) fn stop(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 9}})
}

#[expect(clippy::needless_pass_by_value, reason = "the calls read better")]
pub(crate) fn block(index: u64, content_block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": content_block})
}

#[expect(clippy::needless_pass_by_value, reason = "the calls read better")]
pub(crate) fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

pub(crate) fn block_stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

/// A whole block with these deltas.
pub(crate) fn whole(index: u64, content_block: Value, deltas: Vec<Value>) -> Vec<Value> {
    let mut all = vec![block(index, content_block)];
    all.extend(deltas.into_iter().map(|each| delta(index, each)));
    all.push(block_stop(index));
    all
}

/// A text block in these pieces.
pub(crate) fn text(index: u64, pieces: &[&str]) -> Vec<Value> {
    let deltas = pieces
        .iter()
        .map(|piece| json!({"type": "text_delta", "text": piece}));
    whole(index, json!({"type": "text", "text": ""}), deltas.collect())
}

/// A thinking block in these pieces, with its signature.
pub(crate) fn thinking(index: u64, pieces: &[&str], signature: &str) -> Vec<Value> {
    let deltas = pieces
        .iter()
        .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
        .chain([json!({"type": "signature_delta", "signature": signature})]);
    whole(
        index,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        deltas.collect(),
    )
}

/// A call in these pieces.
pub(crate) fn call(index: u64, id: &str, name: &str, pieces: &[&str]) -> Vec<Value> {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    whole(index, block, input(pieces))
}

/// A tool's input in these pieces.
pub(crate) fn input(pieces: &[&str]) -> Vec<Value> {
    pieces
        .iter()
        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
        .collect()
}
