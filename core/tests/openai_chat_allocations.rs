//! A plain delta allocates nothing, from the bytes to the event.

#[path = "support/chat.rs"]
mod chat;

use chat::{body, calls, delta, framer, text};
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use stepwell_core::dialect::{Decode, DecodeError, Sink};
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
    let body = body(&frames);
    let mut decoder = chat::decoder();
    let mut framer = framer();
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

#[test]
fn plain_deltas_allocate_nothing() {
    let opening = || delta(json!({"role": "assistant", "content": ""}));
    assert_few(
        "text",
        allocations(opening(), |_| text(" hello"), 6 * DELTAS),
    );
    assert_few(
        "escaped text",
        allocations(opening(), |_| text("\"\n\t"), 3 * DELTAS),
    );
    assert_few(
        "reasoning",
        allocations(
            opening(),
            |_| delta(json!({"content": "", "reasoning": "hm", "reasoning_details": []})),
            2 * DELTAS,
        ),
    );
    assert_few(
        "thinking in parts",
        allocations(
            opening(),
            |_| {
                delta(
                    json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
                )
            },
            2 * DELTAS,
        ),
    );
    let four = (0..4).map(|n| json!({"index": n, "id": format!("call_{n}"), "function": {"name": "f", "arguments": ""}}));
    assert_few(
        "arguments",
        allocations(
            calls(four.collect()),
            |n| calls(json!([{"index": n % 4, "function": {"arguments": "{\"key\": \"val"}}])),
            12 * DELTAS,
        ),
    );
}
