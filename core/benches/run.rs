//! The cost of a run as it grows: a delta after more text, a snapshot and a restore, and arguments that are parsed
//! while they stream.
//!
//! `cargo bench -p stepwell-core --bench run [-- ROUNDS]`

mod support;

use serde_json::json;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use stepwell_core::run::{RunConfig, RunMachine};
use support::Format;
use support::harness::{
    Asked, CHUNK, GROWTH_BAR, Way, checked, in_turns, introduce, median, verdict,
};
use support::stepwell::{Streaming, decode_with};
use support::workload::{self, Workload};

/// The maximum cost of a delta after more text, as a multiple of the cost after less.
const DELTA_BAR: f64 = 1.2;

/// The most that a snapshot of 100 messages and its restore may take together, in milliseconds.
const SNAPSHOT_BAR: f64 = 1.0;

fn main() {
    let asked = Asked::with(15);
    introduce(&asked);
    let Asked {
        rounds, is_bench, ..
    } = asked;
    deltas(rounds, is_bench);
    snapshots(rounds, is_bench);
    partial_arguments(rounds, is_bench);
}

/// An endless stream of one message or call, one delta per chunk.
struct Endless {
    work: Workload,
    opening: Vec<u8>,
    delta: fn(&str) -> Vec<u8>,
    partial_arguments: bool,
}

fn frame(data: &serde_json::Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

impl Endless {
    fn ag_ui(history: usize) -> Self {
        let mut opening = frame(&json!({ "type": "RUN_STARTED", "threadId": "t", "runId": "r" }));
        opening.extend(frame(
            &json!({ "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant" }),
        ));
        Self {
            work: workload::ag_ui(0, 0, history),
            opening,
            delta: |text| {
                frame(&json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text }))
            },
            partial_arguments: false,
        }
    }

    fn chat(history: usize) -> Self {
        let mut work = workload::ag_ui(0, 0, history);
        work.format = Format::OpenAiChat;
        Self {
            work,
            opening: frame(&json!({ "choices": [{ "delta": { "role": "assistant" } }] })),
            delta: |text| frame(&json!({ "choices": [{ "delta": { "content": text } }] })),
            partial_arguments: false,
        }
    }

    fn arguments(partial_arguments: bool) -> Self {
        let call = |arguments: &str| {
            json!({ "choices": [{ "delta": { "tool_calls": [
                { "index": 0, "function": { "arguments": arguments } },
            ] } }] })
        };
        let mut opening = frame(&json!({ "choices": [{ "delta": { "tool_calls": [
            { "index": 0, "id": "c", "function": { "name": "tool", "arguments": "" } },
        ] } }] }));
        opening.extend(frame(&call("{\"text\":\"")));
        Self {
            opening,
            delta: |arguments| {
                frame(&json!({ "choices": [{ "delta": { "tool_calls": [
                    { "index": 0, "function": { "arguments": arguments } },
                ] } }] }))
            },
            partial_arguments,
            ..Self::chat(0)
        }
    }

    /// Agents that stamp each event with the time.
    fn stamped_arguments() -> Self {
        let mut opening = frame(&json!({ "type": "RUN_STARTED", "threadId": "t", "runId": "r" }));
        opening.extend(frame(
            &json!({ "type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "tool" }),
        ));
        opening.extend(frame(
            &json!({ "type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{\"text\":\"" }),
        ));
        Self {
            opening,
            delta: |arguments| {
                frame(&json!({
                    "type": "TOOL_CALL_ARGS",
                    "toolCallId": "c",
                    "delta": arguments,
                    "timestamp": 1_700_000_000_000_u64,
                }))
            },
            partial_arguments: true,
            ..Self::ag_ui(0)
        }
    }

    /// Returns the stream after `so_far` bytes of it.
    fn begun(&self, so_far: usize) -> Streaming {
        let mut streaming = Streaming::new(&self.work, self.partial_arguments);
        streaming.receive(&self.opening);
        let piece = (self.delta)(&"x".repeat(1 << 10));
        for _ in 0..so_far >> 10 {
            streaming.receive(&piece);
        }
        streaming
    }
}

/// The number of deltas on one side before the other side's turn, so that a slowdown of the machine affects both.
const BLOCK: usize = 50;

/// Returns the time of a delta on either side, in nanoseconds, and their ratio.
///
/// The median of a round's blocks counts, since in one of them a text may need more room: doubling it costs a copy of a
/// megabyte, which the next megabyte amortises. The last part shows that the total is linear.
fn side_by_side(
    rounds: usize,
    blocks: usize,
    few: (&Endless, usize),
    many: (&Endless, usize),
) -> (f64, f64, f64) {
    let (mut fews, mut manys, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let mut sides = [few, many].map(|(endless, so_far)| {
            let delta = (endless.delta)(" and so on");
            (endless.begun(so_far), delta, Vec::new())
        });
        for block in 0..=blocks {
            for (streaming, delta, times) in &mut sides {
                let start = Instant::now();
                for _ in 0..BLOCK {
                    streaming.receive(delta);
                }
                // The first block warms up.
                if block > 0 {
                    times.push(start.elapsed().as_secs_f64() * 1e9 / BLOCK as f64);
                }
            }
        }
        if round > 0 {
            let [few, many] = sides.map(|(.., times)| median(times));
            fews.push(few);
            manys.push(many);
            ratios.push(many / few);
        }
    }
    (median(fews), median(manys), median(ratios))
}

fn deltas(rounds: usize, is_bench: bool) {
    let (blocks, messages, bytes) = if is_bench {
        (40, 10_000, 1 << 20)
    } else {
        (2, 100, 1 << 12)
    };
    println!("\none delta a chunk, and its output: at most {DELTA_BAR} times the cost with less");
    let row = |name: &str, (few, many, ratio): (f64, f64, f64)| {
        println!(
            "  {name:<44} {few:>7.0} ns {many:>7.0} ns {ratio:>6.2}  {}",
            verdict(ratio < DELTA_BAR)
        );
    };
    for (name, endless) in [
        ("AG-UI", Endless::ag_ui as fn(usize) -> Endless),
        ("chat", Endless::chat),
    ] {
        let (few, many) = (endless(10), endless(messages));
        row(
            &format!("{name}: 10 and {messages} messages behind it"),
            side_by_side(rounds, blocks, (&few, 0), (&many, 0)),
        );
        row(
            &format!("{name}: 1 KiB and {} KiB of the message", bytes >> 10),
            side_by_side(rounds, blocks, (&few, 1 << 10), (&few, bytes)),
        );
    }
    for (name, endless) in [
        ("not parsed", Endless::arguments(false)),
        ("parsed", Endless::arguments(true)),
        ("stamped, parsed", Endless::stamped_arguments()),
    ] {
        row(
            &format!("arguments, {name}: 1 KiB and {} KiB", bytes >> 10),
            side_by_side(rounds, blocks, (&endless, 1 << 10), (&endless, bytes)),
        );
    }
}

fn snapshots(rounds: usize, is_bench: bool) {
    println!("\na snapshot of a streaming run and its restore");
    let sizes = if is_bench {
        [100, 400, 1600]
    } else {
        [4, 16, 64]
    };
    let runs = sizes.map(|messages| {
        let endless = Endless::ag_ui(messages);
        let config = Arc::new(RunConfig::new(
            stepwell_core::provider::find("ag-ui")
                .expect("a provider of the table")
                .endpoint(None, "", Some("http://localhost"), None)
                .expect("a whole endpoint"),
        ));
        (endless.begun(1 << 10).machine, config)
    });
    let ways: Vec<Way<'_>> = runs
        .iter()
        .map(|(machine, config)| {
            Box::new(|| {
                let start = Instant::now();
                let snapshot = machine.snapshot();
                let restored = RunMachine::restore(&snapshot, Arc::clone(config));
                let time = start.elapsed();
                black_box(restored.expect("it was just written"));
                time
            }) as Way<'_>
        })
        .collect();
    // These are short, so there are more of them.
    let table = in_turns(10 * rounds, &ways);
    for (index, (messages, (machine, _))) in sizes.iter().zip(&runs).enumerate() {
        let time = table.median(index);
        let growth = match index {
            0 => format!("{:>20}", verdict(time < SNAPSHOT_BAR)),
            _ => {
                let ratio = table.ratio(index, index - 1);
                let met = verdict(ratio <= GROWTH_BAR);
                format!("{ratio:>6.2} times  {met}")
            }
        };
        println!(
            "  {messages:>5} messages, {:>5} KiB {time:>8.3} ms  {growth}",
            machine.snapshot().len() >> 10
        );
    }
}

fn partial_arguments(rounds: usize, is_bench: bool) {
    let size = if is_bench { 1 << 20 } else { 1 << 12 };
    println!("\narguments in deltas of 16 bytes, parsed while they stream");
    println!(
        "  {:<38} {:>10} {:>10} {:>10} {:>8}",
        "", "off", "on", "on, 4 x", "growth"
    );
    let calls = || (workload::calls(size), workload::calls(4 * size));
    let deltas = size / 16;
    let ag_ui = || {
        (
            workload::ag_ui(0, deltas, 0),
            workload::ag_ui(0, 4 * deltas, 0),
        )
    };
    for (name, (small, large), is_cut) in [
        ("chat, 4 calls, chunks of 16 KiB", calls(), false),
        ("chat, 4 calls, one delta a chunk", calls(), true),
        ("AG-UI, 2 calls, chunks of 16 KiB", ag_ui(), false),
        ("AG-UI, 2 calls, one delta a chunk", ag_ui(), true),
    ] {
        let decode = |work: &Workload, partial: bool| {
            if is_cut {
                checked(work, decode_with(work, frames(&work.bytes), partial))
            } else {
                checked(work, decode_with(work, work.bytes.chunks(CHUNK), partial))
            }
        };
        let table = in_turns(
            rounds,
            &[
                Box::new(|| decode(&small, false)),
                Box::new(|| decode(&small, true)),
                Box::new(|| decode(&large, true)),
            ],
        );
        let growth = table.ratio(2, 1);
        println!(
            "  {name:<38} {:>7.1} ms {:>7.1} ms {:>7.1} ms {growth:>8.2}  {}",
            table.median(0),
            table.median(1),
            table.median(2),
            verdict(growth <= GROWTH_BAR)
        );
    }
}

/// Returns the events, each as a chunk of its own.
fn frames(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let end = memchr::memmem::find(rest, b"\n\n")? + 2;
        let (frame, more) = rest.split_at(end);
        rest = more;
        Some(frame)
    })
}
