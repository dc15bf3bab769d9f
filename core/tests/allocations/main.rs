//! A plain delta allocates nothing, from the bytes to the event: what little is counted is the room that is made once.

// A test is read best where it takes its `json!` as it is written.
#![allow(clippy::needless_pass_by_value)]

mod ag_ui;
#[path = "../support/cases.rs"]
mod cases;
mod linear;
mod memory;
mod plain;
mod run;

#[path = "../support/stream.rs"]
mod stream;

use stepwell_core::dialect::{Dialect, Sink};
use stepwell_core::event::{EventRef, Violation};

/// As a network hands bytes out.
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

/// The name of a dialect for the crate that writes what providers send.
fn mock(dialect: Dialect) -> stepwell_mock_llm::Dialect {
    stepwell_mock_llm::Dialect::from_name(dialect.name()).expect("it has them all")
}
