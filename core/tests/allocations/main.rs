//! A plain delta allocates nothing, from the bytes to the event: what little is counted is the room that is made once.

// A test is read best where it takes its `json!` as it is written.
#![allow(clippy::needless_pass_by_value)]

mod ag_ui;
mod anthropic;
mod cohere;
mod gemini;
mod linear;
mod memory;
mod ollama;
mod openai_chat;
mod openai_responses;
mod run;

#[path = "../support/stream.rs"]
mod stream;

use allocation_counter::measure;
use serde_json::Value;
use stepwell_core::dialect::{Decode, Dialect, Sink};
use stepwell_core::event::{EventRef, Violation};
use stream::Stream;

const DELTAS: usize = 4_096;

/// As a network hands them out.
const CHUNK: usize = 16 << 10;

/// Counts what comes, and keeps nothing.
#[derive(Default)]
struct Tally {
    deltas: usize,
    bytes: usize,
}

impl Sink for Tally {
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        if let EventRef::TextMessageContent { delta, .. }
        | EventRef::ReasoningMessageContent { delta, .. }
        | EventRef::ToolCallArgs { delta, .. } = event
        {
            self.deltas += 1;
            self.bytes += delta.len();
        }
        Ok(())
    }

    fn warning(&mut self, message: &str) {
        panic!("{message}");
    }
}

/// Frames in the dialect's framing.
fn body(dialect: Dialect, frames: impl IntoIterator<Item = Value>) -> String {
    let line = |frame: Value| match dialect {
        Dialect::Ollama => format!("{frame}\n"),
        _ => match frame["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {frame}\n\n"),
            None => format!("data: {frame}\n\n"),
        },
    };
    frames.into_iter().map(line).collect()
}

/// After `opening`, frames as `delta` makes them bring one piece of `bytes` bytes each, and hardly ever allocate.
fn assert_few(
    dialect: Dialect,
    name: &str,
    opening: impl IntoIterator<Item = Value>,
    delta: impl Fn(usize) -> Value,
    bytes: usize,
) {
    let opening = body(dialect, opening);
    let deltas = body(dialect, (0..DELTAS).map(delta));
    let Stream {
        mut framer,
        mut decoder,
        ..
    } = Stream::new(dialect);
    let mut tally = Tally::default();
    let allocations = measure(|| {
        for chunk in opening
            .as_bytes()
            .chunks(CHUNK)
            .chain(deltas.as_bytes().chunks(CHUNK))
        {
            let result = framer.receive(chunk, |frame| decoder.frame(frame, &mut tally));
            assert_eq!(result, Ok(()));
        }
    });
    assert_eq!(
        (tally.deltas, tally.bytes),
        (DELTAS, bytes * DELTAS),
        "{name}"
    );
    let each = allocations.count_total as f64 / DELTAS as f64;
    println!("{dialect:?}, {name}: {each} allocations a delta");
    assert!(
        each < 0.05,
        "{dialect:?}, {name}: {each} allocations a delta"
    );
}
