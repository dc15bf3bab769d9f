//! Gemini: its stream, and its floor.

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
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Vec<Candidate<'a>>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Content<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

/// Builds `deltas` deltas of text, each with the counts so far, as the service sends them.
pub(crate) fn text(deltas: usize) -> Workload {
    let mut work = Workload::new("Gemini, text", Format::Gemini);
    let mut chunk = |text: &str, finish_reason: Option<&str>, at: usize| {
        let mut candidate =
            json!({ "content": { "parts": [{ "text": text }], "role": "model" }, "index": 0 });
        if let Some(reason) = finish_reason {
            candidate["finishReason"] = Value::from(reason);
        }
        let chunk = json!({
            "candidates": [candidate],
            "usageMetadata": {
                "promptTokenCount": 9,
                "candidatesTokenCount": at,
                "totalTokenCount": 199 + at,
                "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": 9 }],
                "thoughtsTokenCount": 190,
            },
            "modelVersion": "a-model-2025-01-01",
            "responseId": "bH6LaZW8Fp_3nsEPqtaSwQ4",
        });
        work.text += text.len();
        work.bytes
            .extend_from_slice(format!("data: {chunk}\r\n\r\n").as_bytes());
    };
    for at in 0..deltas {
        chunk(PIECES[at * 7 % PIECES.len()], None, at);
    }
    chunk("", Some("STOP"), deltas);
    work
}

pub(crate) fn floor(work: &Workload, chunk: usize) -> Decoded {
    let start = Instant::now();
    let mut gathered = String::new();
    floor::frames(&work.bytes, chunk, |data| {
        let chunk: Chunk<'_> = serde_json::from_slice(data).expect("a chunk of the workload");
        for candidate in chunk.candidates {
            for part in candidate.content.parts {
                if let Some(Text(text)) = part.text {
                    gathered.push_str(&text);
                }
            }
        }
    });
    Decoded {
        time: start.elapsed(),
        text: gathered.len(),
        args: 0,
    }
}
