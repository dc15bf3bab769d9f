//! Ollama's own chat: its stream, and its floor.

use super::workload::{PIECES, Workload};
use super::{Decoded, Format};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::time::Instant;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// `deltas` pieces of text.
pub(crate) fn text(deltas: usize) -> Workload {
    let mut work = Workload::new("Ollama, text", Format::Ollama);
    for at in 0..deltas {
        let piece = PIECES[at * 7 % PIECES.len()];
        work.text += piece.len();
        let line = json!({
            "model": "a-model:4b",
            "created_at": "2026-08-05T08:10:56.372032Z",
            "message": { "role": "assistant", "content": piece },
            "done": false,
        });
        work.bytes.extend_from_slice(format!("{line}\n").as_bytes());
    }
    let last = json!({
        "model": "a-model:4b",
        "created_at": "2026-08-05T08:10:56.372032Z",
        "message": { "role": "assistant", "content": "" },
        "done": true,
        "done_reason": "stop",
        "prompt_eval_count": 10,
        "eval_count": 20,
    });
    work.bytes.extend_from_slice(format!("{last}\n").as_bytes());
    work
}

pub(crate) fn floor(work: &Workload, chunk: usize) -> Decoded {
    let start = Instant::now();
    let mut gathered = String::new();
    let mut line = |line: &[u8]| {
        let line: Line<'_> = serde_json::from_slice(line).expect("a line of the workload");
        gathered.push_str(&line.message.content);
    };
    let mut carry = Vec::new();
    for mut chunk in work.bytes.chunks(chunk) {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            if carry.is_empty() {
                line(&chunk[..end]);
            } else {
                carry.extend_from_slice(&chunk[..end]);
                line(&carry);
                carry.clear();
            }
            chunk = &chunk[end + 1..];
        }
        carry.extend_from_slice(chunk);
    }
    Decoded {
        time: start.elapsed(),
        text: gathered.len(),
        args: 0,
    }
}
