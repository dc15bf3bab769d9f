//! A typed answer in deltas of 16 bytes, parsed while it streams and checked at its end: compared with the same text
//! without a type, and by size.
//!
//! `cargo bench -p stepwell-core --bench typed_answers [-- ROUNDS]`

mod support;

use serde_json::{Value, json};
use std::borrow::Cow;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stepwell_core::event::Message;
use stepwell_core::run::{Effect, EffectId, Input, Outcome, Output, RunConfig, RunMachine, Start};
use stepwell_core::tool::{OutputMode, OutputType};
use stepwell_core::transcript::Transcript;
use stepwell_core::{Timestamp, provider};
use support::harness::{Asked, GROWTH_BAR, Way, in_turns, introduce, verdict};

/// The most that a typed answer may cost, as a multiple of the same text without a type.
const TYPED_BAR: f64 = 2.5;

const PIECE: usize = 16;

/// The largest allocation that glibc adapts to.
const LARGE: usize = 31 << 20;

/// An answer of this size, and its frames, one delta each.
struct Streamed {
    text: String,
    frames: Vec<Vec<u8>>,
    mode: OutputMode,
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"rows": {"type": "array", "items": {
        "type": "object", "properties": {
            "id": {"type": "integer"}, "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
        }, "required": ["id", "name"]}}}, "required": ["rows"]})
}

impl Streamed {
    fn new(size: usize, mode: OutputMode) -> Self {
        let mut text = String::from("{\"rows\":[");
        let mut id = 0;
        while text.len() < size {
            let row = json!({"id": id, "name": format!("The row with the number {id}, \"quoted\""), "tags": ["a", "bc"]});
            let comma = if id > 0 { "," } else { "" };
            text.push_str(&format!("{comma}{row}"));
            id += 1;
        }
        text.push_str("]}");
        let delta = |piece: &str| match mode {
            OutputMode::Tool => {
                json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
            }
            _ => json!({"content": piece}),
        };
        let chunk = |delta: Value| {
            format!("data: {}\n\n", json!({"choices": [{"delta": delta}]})).into_bytes()
        };
        let mut frames = Vec::new();
        if mode == OutputMode::Tool {
            frames.push(chunk(json!({"tool_calls": [{"index": 0, "id": "c",
                "function": {"name": "final_result", "arguments": ""}}]})));
        }
        let bytes = text.as_bytes().chunks(PIECE);
        frames.extend(bytes.map(|piece| chunk(delta(&String::from_utf8_lossy(piece)))));
        frames
            .push(b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_vec());
        Self { text, frames, mode }
    }

    /// Returns the time from the first delta to the end of the turn, with every output taken.
    fn read(&self, is_typed: bool) -> Duration {
        let endpoint = provider::find("openai-compatible")
            .expect("a provider of the table")
            .endpoint(None, "model", Some("http://localhost"), None)
            .expect("a whole endpoint");
        let mut config = RunConfig::new(endpoint);
        config.limits.max_tool_rounds = 0;
        if is_typed {
            let output = OutputType::new("Rows", schema()).expect("a type");
            config.output = Some(output.mode(self.mode));
        }
        let mut machine = RunMachine::new(Arc::new(config), "t".into(), Transcript::default());
        let now = Timestamp(0);
        machine
            .start(Start::new("r", Message::user("u", "?")), now)
            .expect("it is idle");
        let effect = drain(&mut machine).expect("a request goes out");
        let opened = Input::Opened {
            effect,
            content_type: None,
        };
        machine.handle(opened, now).expect("it opens");
        drain(&mut machine);
        let start = Instant::now();
        for frame in &self.frames {
            let bytes = Cow::Borrowed(frame.as_slice());
            machine
                .handle(Input::Received { effect, bytes }, now)
                .expect("it streams");
            drain(&mut machine);
        }
        machine
            .handle(Input::Ended { effect }, now)
            .expect("it ends");
        drain(&mut machine);
        let time = start.elapsed();
        if is_typed {
            assert_eq!(machine.outcome(), Some(&Outcome::Success));
            let rows = machine.output().expect("it fits")["rows"]
                .as_array()
                .map(Vec::len);
            assert!(
                rows.is_some_and(|rows| rows > 1),
                "{} bytes",
                self.text.len()
            );
        }
        time
    }
}

fn drain(machine: &mut RunMachine) -> Option<EffectId> {
    let mut opens = None;
    while let Some(output) = machine.poll_output() {
        if let Output::Effect(id, Effect::OpenStream { .. }) = &output {
            opens = Some(*id);
        }
        black_box(output);
    }
    opens
}

fn main() {
    // Until glibc has freed a large allocation, it returns the memory of the large answer to the system after each
    // round, and keeps that of the small one. The comparison would then measure page faults, and not the work.
    drop(black_box(vec![0_u8; LARGE]));
    let asked = Asked::with(9);
    introduce(&asked);
    let size = if asked.is_bench { 1 << 20 } else { 1 << 12 };
    println!("{} KiB of JSON in pieces of {PIECE} bytes", size >> 10);
    println!(
        "  {:<20} {:>12} {:>12} {:>8} {:>12} {:>8}",
        "", "no type", "typed", "ratio", "typed, 4 x", "growth"
    );
    for (name, mode) in [
        ("in its text", OutputMode::Prompt),
        ("by a final tool", OutputMode::Tool),
    ] {
        let (small, large) = (Streamed::new(size, mode), Streamed::new(4 * size, mode));
        let ways: [Way<'_>; 3] = [
            Box::new(|| small.read(false)),
            Box::new(|| small.read(true)),
            Box::new(|| large.read(true)),
        ];
        let table = in_turns(asked.rounds, &ways);
        let (ratio, growth) = (table.ratio(1, 0), table.ratio(2, 1));
        println!(
            "  {name:<20} {:>9.1} ms {:>9.1} ms {ratio:>8.2} {:>9.1} ms {growth:>8.2}  {} {}",
            table.median(0),
            table.median(1),
            table.median(2),
            verdict(ratio <= TYPED_BAR),
            verdict(growth <= GROWTH_BAR)
        );
    }
}
