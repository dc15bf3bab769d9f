//! Decoding a body and looking at what came of it. Shared by several tests, each of which uses a part of it.
#![allow(dead_code)]

use serde_json::{Value, json};
use stepwell_core::dialect::{Decode, DecodeError, Decoder, Dialect, HopIds, Sink};
use stepwell_core::event::{Event, EventRef, Violation};
use stepwell_core::wire::{FrameLimits, Framer};

/// Keeps all events.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Recorder {
    pub(crate) events: Vec<Event>,
    pub(crate) warnings: Vec<String>,
}

impl Sink for Recorder {
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        self.events.push(event.to_event());
        Ok(())
    }

    fn warning(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }
}

pub(crate) fn ids() -> HopIds {
    HopIds {
        thread_id: "t".into(),
        run_id: "r".into(),
        ..HopIds::default()
    }
}

pub(crate) fn decoder() -> Decoder {
    Decoder::new(Dialect::OpenAiChat, ids())
}

pub(crate) fn framer() -> Framer {
    Dialect::OpenAiChat.framer(FrameLimits::default())
}

/// A framer and its decoder.
pub(crate) struct Stream {
    pub(crate) framer: Framer,
    pub(crate) decoder: Decoder,
    pub(crate) recorder: Recorder,
    /// Whether every frame ends with a snapshot of the decoder and its restoration.
    pub(crate) snapshots: bool,
    /// Whether every frame gets a key that the cursor leaves to serde.
    pub(crate) without_cursor: bool,
}

impl Stream {
    pub(crate) fn new() -> Self {
        Self::of(Dialect::OpenAiChat)
    }

    pub(crate) fn of(dialect: Dialect) -> Self {
        Self {
            framer: dialect.framer(FrameLimits::default()),
            decoder: Decoder::new(dialect, ids()),
            recorder: Recorder::default(),
            snapshots: false,
            without_cursor: false,
        }
    }

    pub(crate) fn receive(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        let Self {
            framer,
            decoder,
            recorder,
            snapshots,
            without_cursor,
        } = self;
        framer.receive(chunk, |frame| {
            one(decoder, recorder, frame, *snapshots, *without_cursor)
        })
    }

    pub(crate) fn end(&mut self) -> Result<(), DecodeError> {
        let Self {
            framer,
            decoder,
            recorder,
            snapshots,
            without_cursor,
        } = self;
        framer.finish(|frame| one(decoder, recorder, frame, *snapshots, *without_cursor))?;
        decoder.end(recorder)
    }

    /// Takes the whole body, in pieces of `size`.
    pub(crate) fn run(mut self, body: &[u8], size: usize) -> (Recorder, Result<(), DecodeError>) {
        let result = body
            .chunks(size)
            .try_for_each(|chunk| self.receive(chunk))
            .and_then(|()| self.end());
        (self.recorder, result)
    }
}

fn one(
    decoder: &mut Decoder,
    recorder: &mut Recorder,
    frame: stepwell_core::wire::Frame<'_>,
    snapshots: bool,
    without_cursor: bool,
) -> Result<(), DecodeError> {
    let spelled = without_cursor.then(|| with_escaped_key(frame.data));
    let data = spelled.as_deref().unwrap_or(frame.data);
    decoder.frame(stepwell_core::wire::Frame { data, ..frame }, recorder)?;
    if snapshots {
        let snapshot = serde_json::to_string(decoder).expect("a decoder is plain data");
        let restored: Decoder = serde_json::from_str(&snapshot).expect("a snapshot can be read");
        assert_eq!(&restored, decoder);
        *decoder = restored;
    }
    Ok(())
}

/// The frame with a meaningless key in front whose spelling the cursor leaves to serde. Not an object: as it is.
pub(crate) fn with_escaped_key(data: &[u8]) -> Vec<u8> {
    let trimmed = data.trim_ascii_start();
    let Some(rest) = trimmed.strip_prefix(b"{") else {
        return data.to_vec();
    };
    let comma: &[u8] = if rest.trim_ascii_start().starts_with(b"}") {
        b""
    } else {
        b","
    };
    [br#"{"\u0000":0"#, comma, rest].concat()
}

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
    let (recorder, result) = Stream::new().run(body.as_bytes(), usize::MAX);
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
