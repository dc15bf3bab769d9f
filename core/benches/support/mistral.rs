//! Mistral: a stream that thinks in parts and answers in plain text, and its floor.

use super::workload::{PIECES, Workload};
use super::{Decoded, Format, floor};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::Instant;

/// A bare `Cow` would be copied each time: serde borrows only for a field that is a `Cow` itself.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    thinking: Vec<Thought<'a>>,
}

#[derive(Deserialize)]
struct Thought<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

/// Half of the `deltas` are thoughts, half the answer.
pub(crate) fn stream(deltas: usize) -> Workload {
    let mut work = Workload::new("Mistral, thinking", Format::Mistral);
    let mut bytes = Vec::new();
    let mut chunk = |content: Value, reason: Option<&str>| {
        let chunk = json!({
            "id": "9f9d90210f194076abeee223863eaaf0",
            "object": "chat.completion.chunk",
            "created": 1_764_296_393,
            "model": "a-model-2025-01-01",
            "choices": [{ "index": 0, "delta": { "content": content }, "finish_reason": reason }],
        });
        bytes.extend_from_slice(format!("data: {chunk}\n\n").as_bytes());
    };
    for at in 0..deltas {
        let piece = PIECES[at * 7 % PIECES.len()];
        work.text += piece.len();
        if at < deltas / 2 {
            let thought = json!([{ "type": "text", "text": piece }]);
            chunk(json!([{ "type": "thinking", "thinking": thought }]), None);
        } else {
            chunk(json!(piece), None);
        }
    }
    chunk(json!(""), Some("stop"));
    bytes.extend_from_slice(b"data: [DONE]\n\n");
    work.bytes = bytes;
    work
}

pub(crate) fn floor(work: &Workload, chunk: usize) -> Decoded {
    let start = Instant::now();
    let mut text = String::new();
    let mut thinking = String::new();
    floor::frames(&work.bytes, chunk, |data| {
        let chunk: Chunk<'_> = serde_json::from_slice(data).expect("a chunk of the workload");
        for choice in chunk.choices {
            let content = choice.delta.content.get();
            if content.starts_with('[') {
                let parts: Vec<Part<'_>> = serde_json::from_str(content).expect("parts");
                for thought in parts.into_iter().flat_map(|part| part.thinking) {
                    thinking.push_str(&thought.text.0);
                }
            } else {
                let piece: Text<'_> = serde_json::from_str(content).expect("text");
                text.push_str(&piece.0);
            }
        }
    });
    Decoded {
        time: start.elapsed(),
        text: text.len() + thinking.len(),
        args: 0,
    }
}
