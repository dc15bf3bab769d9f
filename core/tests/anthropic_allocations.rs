//! A plain delta allocates nothing, from the bytes to the event.

#[path = "anthropic/support.rs"]
mod support;

use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use stepwell_core::dialect::{Decode, Sink};
use stepwell_core::event::{EventRef, Violation};
use support::{Stream, block, body, delta, start};

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

const DELTAS: usize = 4_096;

/// Allocations for each delta of a block that begins like this, in chunks as a network hands them out.
fn allocations(opening: &[Value], piece: impl Fn(usize) -> Value, bytes: usize) -> f64 {
    let opening = body(&[&[start()], opening].concat());
    let deltas: Vec<_> = (0..DELTAS).map(piece).collect();
    let deltas = body(&deltas);
    let mut tally = Tally::default();
    let Stream {
        mut framer,
        mut decoder,
        ..
    } = Stream::new();
    let result = framer.receive(opening.as_bytes(), |frame| decoder.frame(frame, &mut tally));
    assert_eq!(result, Ok(()));
    let before = COUNT.get();
    for chunk in deltas.as_bytes().chunks(16 << 10) {
        let result = framer.receive(chunk, |frame| decoder.frame(frame, &mut tally));
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
    let text = block(0, json!({"type": "text", "text": ""}));
    let say = |piece: &str| delta(0, json!({"type": "text_delta", "text": piece}));
    assert_few(
        "text",
        allocations(std::slice::from_ref(&text), |_| say(" hello"), 6 * DELTAS),
    );
    assert_few(
        "escaped text",
        allocations(&[text], |_| say("\"\n\t"), 3 * DELTAS),
    );
    let thinking = block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
    );
    assert_few(
        "thinking",
        allocations(
            &[thinking],
            |_| delta(0, json!({"type": "thinking_delta", "thinking": "hm\n"})),
            3 * DELTAS,
        ),
    );
    let four: Vec<_> = (0..4)
        .map(|n| {
            block(
                n,
                json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": "f", "input": {}}),
            )
        })
        .collect();
    assert_few(
        "arguments",
        allocations(
            &four,
            |n| {
                let piece = json!({"type": "input_json_delta", "partial_json": "{\"key\": \"val"});
                delta(n as u64 % 4, piece)
            },
            12 * DELTAS,
        ),
    );
}
