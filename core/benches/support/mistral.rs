//! Mistral: a stream that thinks in parts and answers in plain text, and its floor.

use super::workload::{PIECES, Workload};
use super::{Decoded, Format, floor};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::time::Instant;
use stepwell_mock_llm::Answer;

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
    let pieces: Vec<_> = (0..deltas)
        .map(|at| PIECES[at * 7 % PIECES.len()])
        .collect();
    let (thoughts, said) = pieces.split_at(deltas / 2);
    let answer = Answer::new()
        .reasoning(thoughts.iter().copied())
        .text(said.iter().copied());
    Workload {
        text: pieces.iter().map(|piece| piece.len()).sum(),
        ..Workload::of("Mistral, thinking", Format::Mistral, &answer)
    }
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
