//! A plain delta allocates nothing, from the bytes to the event.

// A test is read best where it takes its `json!` as it is written.
#![allow(clippy::needless_pass_by_value)]

#[path = "support/decoding.rs"]
mod decoding;

use decoding::{Stream, body};
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use stepwell_core::dialect::{Decode, DecodeError, Dialect, Sink};
use stepwell_core::event::{EventRef, Violation};

/// Counts the allocations of the thread that asks.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

fn count_one() {
    // A thread that is being torn down still allocates.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_one();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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

const DELTAS: usize = 2_000;

/// Allocations for each delta, with `first` in front of many frames as `frame` makes them.
fn allocations(first: Value, frame: impl Fn(usize) -> Value, bytes: usize) -> f64 {
    let mut frames = vec![first];
    frames.extend((0..DELTAS).map(frame));
    let body = body(Dialect::Gemini, &frames);
    let Stream {
        mut framer,
        mut decoder,
        ..
    } = Stream::new(Dialect::Gemini);
    let mut tally = Tally::default();
    let before = COUNT.get();
    for chunk in body.as_bytes().chunks(16 * 1024) {
        let result: Result<(), DecodeError> =
            framer.receive(chunk, |frame| decoder.frame(frame, &mut tally));
        assert_eq!(result, Ok(()));
    }
    let count = COUNT.get() - before;
    assert_eq!((tally.deltas, tally.bytes), (DELTAS, bytes));
    count as f64 / DELTAS as f64
}

fn assert_few(name: &str, allocations: f64) {
    println!("{name}: {allocations} allocations a delta");
    assert!(
        allocations < 0.05,
        "{name}: {allocations} allocations a delta"
    );
}

fn part(part: Value) -> Value {
    json!({
        "candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 199,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}], "thoughtsTokenCount": 185
        },
        "modelVersion": "gemini-x", "responseId": "bH6LaZW8Fp"
    })
}

#[test]
fn plain_deltas_allocate_nothing() {
    let opening = || part(json!({"text": ""}));
    assert_few(
        "text",
        allocations(opening(), |_| part(json!({"text": " hello"})), 6 * DELTAS),
    );
    assert_few(
        "escaped text",
        allocations(opening(), |_| part(json!({"text": "\"\n\t"})), 3 * DELTAS),
    );
    assert_few(
        "thoughts",
        allocations(
            opening(),
            |_| part(json!({"text": "hm", "thought": true})),
            2 * DELTAS,
        ),
    );
}
