//! The cost of loading from a store: reading the stored turns, the tree, the message builder and the view.
//!
//! `cargo bench -p stepwell-core --bench session [-- ROUNDS]`

mod support;

use serde_json::json;
use std::hint::black_box;
use std::time::{Duration, Instant};
use stepwell_core::event::Message;
use stepwell_core::run::{Block, TurnStatus};
use stepwell_core::session::{MessageBuilder, SessionView, Turn, TurnBlock, TurnTree, ViewOptions};
use stepwell_core::{RunId, Timestamp};
use support::harness::{Asked, Way, in_turns, introduce, verdict};

/// The most that a thread of 1,000 turns may take to become a conversation, in milliseconds.
const BAR: f64 = 50.0;

/// The most that four times the turns may take, as a multiple of the time. The work is linear (counted by callgrind, the
/// message builder's instructions grow 3.98 times), but the larger thread does not fit the processor's caches.
const GROWTH_BAR: f64 = 6.0;

fn main() {
    let asked = Asked::with(15);
    introduce(&asked);
    let turns = if asked.is_bench { 1_000 } else { 20 };
    let (small, large) = (thread(turns), thread(4 * turns));
    let texts = [&small, &large].map(|thread| serde_json::to_string(thread).expect("JSON"));
    println!(
        "\nthreads of {turns} and {} turns of 6 blocks and 5 messages, {} and {} KiB",
        4 * turns,
        texts[0].len() >> 10,
        texts[1].len() >> 10
    );
    println!(
        "  {:<34} {:>10} {:>10} {:>8}",
        "", "one", "four times", "growth"
    );
    type Work<'a> = Box<dyn Fn(usize) + 'a>;
    let threads = [&small, &large];
    let work: [(&str, Work<'_>); 5] = [
        (
            "reading the turns from JSON",
            Box::new(|size| {
                let turns: Vec<Turn> = serde_json::from_str(&texts[size]).expect("JSON");
                black_box(turns);
            }),
        ),
        (
            "the tree, and the path that is shown",
            Box::new(|size| {
                let tree = TurnTree::new(threads[size].clone()).expect("a tree");
                black_box(tree.shown().len());
            }),
        ),
        (
            "the message builder",
            Box::new(|size| {
                let transcript = MessageBuilder::new().transcript(threads[size]);
                black_box(transcript.expect("a path"));
            }),
        ),
        (
            "the message builder, formatting",
            Box::new(|size| {
                let builder = MessageBuilder::new().format("read", |result| result.content.clone());
                black_box(builder.transcript(threads[size]).expect("a path"));
            }),
        ),
        (
            "the view",
            Box::new(|size| {
                let view = SessionView::of(threads[size], &ViewOptions::default());
                black_box(view.expect("a path"));
            }),
        ),
    ];
    for (name, run) in &work {
        let timed = |size: usize| -> Duration {
            let start = Instant::now();
            run(size);
            start.elapsed()
        };
        let ways: [Way<'_>; 2] = [Box::new(|| timed(0)), Box::new(|| timed(1))];
        let table = in_turns(asked.rounds, &ways);
        let (time, growth) = (table.median(0), table.ratio(1, 0));
        println!(
            "  {name:<34} {time:>7.2} ms {:>7.2} ms {growth:>8.2}  {}",
            table.median(1),
            verdict(growth <= GROWTH_BAR && time <= BAR)
        );
    }
}

/// A thread of turns with a tool in each.
fn thread(turns: usize) -> Vec<Turn> {
    let id = |at: usize| RunId::from(format!("turn-{at}"));
    (0..turns)
        .map(|at| turn(id(at), at.checked_sub(1).map(id), at))
        .collect()
}

fn turn(id: RunId, parent: Option<RunId>, at: usize) -> Turn {
    let at = Timestamp(at as u64);
    let call = json!({"hop": 0, "index": 0});
    let (asks, answers, calls) = (
        format!("{id}-asks"),
        format!("{id}-answers"),
        format!("{id}-call"),
    );
    let contents = [
        (
            0,
            json!({"type": "reasoning", "message_id": format!("{id}-thinks"), "text": "Where is it? ".repeat(16), "encrypted_value": "c2lnbmF0dXJl"}),
        ),
        (
            0,
            json!({"type": "text", "message_id": asks, "text": "Let me see. ".repeat(4)}),
        ),
        (
            0,
            json!({"type": "tool_use", "call": call, "tool_call_id": calls, "name": "read", "arguments": "{\"path\":\"/etc/hosts\"}", "parent": asks}),
        ),
        (
            0,
            json!({"type": "tool_result", "call": call, "tool_call_id": calls, "content": "127.0.0.1 localhost\n".repeat(40), "is_error": false, "message_id": format!("{id}-result-0")}),
        ),
        (
            1,
            json!({"type": "text", "message_id": answers, "text": "There it is, and this is what it says. ".repeat(20)}),
        ),
        (
            1,
            json!({"type": "usage", "usage": [{"inputTokens": 900, "outputTokens": 300}]}),
        ),
    ];
    let blocks = contents
        .into_iter()
        .enumerate()
        .map(|(sequence, (hop, content))| {
            let block = json!({"sequence": sequence, "hop": hop, "content": content});
            let block: Block = serde_json::from_value(block).expect("a block");
            TurnBlock { block, at }
        });
    Turn {
        message: Some(Message::user(
            format!("{id}-user"),
            "And what does this one say?",
        )),
        id,
        history: None,
        parent,
        status: TurnStatus::Complete,
        outcome: None,
        created_at: at,
        updated_at: at,
        blocks: blocks.collect(),
    }
}
