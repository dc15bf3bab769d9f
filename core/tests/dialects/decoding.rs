//! Decoding a body of any dialect and looking at what came of it.

pub(crate) use crate::stream::{Recorder, Stream, ids};
use serde_json::Value;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Event;

/// A body of these frames, in the dialect's framing.
pub(crate) fn body(dialect: Dialect, frames: &[Value]) -> String {
    let line = |frame: &Value| match dialect {
        Dialect::Ollama => format!("{frame}\n"),
        _ => format!("data: {frame}\r\n\r\n"),
    };
    frames.iter().map(line).collect()
}

/// The events of these frames, in short. They must decode without a warning.
pub(crate) fn outline(dialect: Dialect, frames: &[Value]) -> Vec<String> {
    let body = body(dialect, frames);
    let (recorder, result) = Stream::new(dialect).run(body.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()), "{body}");
    assert_eq!(recorder.warnings, Vec::<String>::new());
    recorder.events.iter().map(short).collect()
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
            event.parent_message_id.as_deref().unwrap_or("-")
        ),
        Event::ToolCallArgs(event) => format!("args {}: {}", event.tool_call_id, event.delta),
        Event::ToolCallEnd(event) => format!("call end {}", event.tool_call_id),
        Event::TextMessageStart(event) => format!("text start {}", event.message_id),
        Event::TextMessageEnd(event) => format!("text end {}", event.message_id),
        Event::ReasoningStart(event) => format!("span {}", event.message_id),
        Event::ReasoningEnd(event) => format!("span end {}", event.message_id),
        Event::ReasoningMessageStart(event) => format!("reasoning start {}", event.message_id),
        Event::ReasoningMessageEnd(event) => format!("reasoning end {}", event.message_id),
        Event::ReasoningEncryptedValue(event) => {
            let sealed: Value = serde_json::from_str(&event.encrypted_value).expect("sealed");
            format!("sealed {}: {}", event.entity_id, sealed["value"])
        }
        Event::ActivitySnapshot(event) => format!(
            "activity {} {}: {}",
            event.message_id,
            event.activity_type,
            serde_json::Value::from(event.content.clone())
        ),
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
