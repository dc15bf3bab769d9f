//! Ollama's own chat: its stream, and its floor.

use super::workload::{PIECES, Workload};
use super::{Decoded, Format};
use serde::Deserialize;
use std::borrow::Cow;
use std::time::Instant;
use stepwell_mock_llm::Answer;

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

/// Builds `deltas` deltas of text.
pub(crate) fn text(deltas: usize) -> Workload {
    let pieces: Vec<_> = (0..deltas)
        .map(|at| PIECES[at * 7 % PIECES.len()])
        .collect();
    let answer = Answer::new().text(pieces.iter().copied()).usage(10, 20);
    Workload {
        text: pieces.iter().map(|piece| piece.len()).sum(),
        ..Workload::of("Ollama, text", Format::Ollama, &answer)
    }
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
