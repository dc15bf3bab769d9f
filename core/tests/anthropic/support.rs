//! Decoding a body and looking at what came of it. Shared by several tests, each of which uses a part of it.
#![allow(dead_code)]

use serde_json::{Value, json};
use stepwell_core::dialect::{Decode, DecodeError, Decoder, Dialect, HopIds, Sink};
use stepwell_core::event::{Event, EventRef, Violation};
use stepwell_core::wire::{Frame, FrameLimits, Framer};

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
        provider: "anthropic".to_owned(),
    }
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
        Self {
            framer: Dialect::Anthropic.framer(FrameLimits::default()),
            decoder: Decoder::new(Dialect::Anthropic, ids()),
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
    frame: Frame<'_>,
    snapshots: bool,
    without_cursor: bool,
) -> Result<(), DecodeError> {
    let spelled = without_cursor.then(|| with_escaped_key(frame.data));
    let data = spelled.as_deref().unwrap_or(frame.data);
    decoder.frame(Frame { data, ..frame }, recorder)?;
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
    let (recorder, result) = Stream::new().run(body.as_bytes(), usize::MAX);
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
