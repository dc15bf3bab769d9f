//! Cohere: its stream, and its floor.

use super::workload::{PIECES, Workload};
use super::{Decoded, Format, floor};
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::Instant;

/// A bare `Option<Cow>` would be copied each time: serde borrows only for a field that is a `Cow` itself.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Event<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Call<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    arguments: Text<'a>,
}

/// Builds `text` deltas of text, then a call with `args` deltas of arguments.
pub(crate) fn stream(text: usize, args: usize) -> Workload {
    let mut work = Workload::new("Cohere, text, call", Format::Cohere);
    let mut bytes = Vec::new();
    let mut event = |event: Value| {
        let kind = event["type"].as_str().expect("a type");
        bytes.extend_from_slice(format!("event: {kind}\ndata: {event}\n\n").as_bytes());
    };
    event(json!({ "type": "message-start", "delta": {} }));
    for at in 0..text {
        let piece = PIECES[at * 7 % PIECES.len()];
        work.text += piece.len();
        let message = json!({ "content": { "text": piece } });
        event(json!({ "type": "content-delta", "index": 0, "delta": { "message": message } }));
    }
    let function = json!({ "name": "tool", "arguments": "" });
    let call = json!({ "id": "tool_0123456789ab", "type": "function", "function": function });
    event(
        json!({ "type": "tool-call-start", "index": 0, "delta": { "message": { "tool_calls": call } } }),
    );
    for at in 0..args {
        let piece = ["\"key\": ", "[1, 2, 3], ", "\"", "a value", "\", "][at % 5];
        work.args += piece.len();
        let message = json!({ "tool_calls": { "function": { "arguments": piece } } });
        event(json!({ "type": "tool-call-delta", "index": 0, "delta": { "message": message } }));
    }
    event(json!({ "type": "tool-call-end", "index": 0 }));
    event(json!({ "type": "message-end", "delta": { "finish_reason": "TOOL_CALL" } }));
    work.bytes = bytes;
    work
}

pub(crate) fn floor(work: &Workload, chunk: usize) -> Decoded {
    let start = Instant::now();
    let mut text = String::new();
    let mut arguments = String::new();
    floor::frames(&work.bytes, chunk, |data| {
        let event: Event<'_> = serde_json::from_slice(data).expect("an event of the workload");
        let Some(message) = event.delta.and_then(|delta| delta.message) else {
            return;
        };
        match (event.r#type, message) {
            (
                "content-delta",
                Message {
                    content: Some(Content { text: Some(piece) }),
                    ..
                },
            ) => text.push_str(&piece.0),
            (
                "tool-call-delta",
                Message {
                    tool_calls: Some(call),
                    ..
                },
            ) => arguments.push_str(&call.function.arguments.0),
            _ => {}
        }
    });
    Decoded {
        time: start.elapsed(),
        text: text.len(),
        args: arguments.len(),
    }
}
