//! Compares Stepwell with eventsource-stream plus typed serde, and with a floor. All run in one process and in turns,
//! and the results are ratios, since only ratios carry over from one machine to another.
//!
//! `cargo bench -p stepwell-core --bench side_by_side [-- ROUNDS [NAME]]`; with a name, only the full paths whose names
//! hold it, as `W6`.

mod support;

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};
use support::harness::{Asked, CHUNK, Table, Way, checked, in_turns, introduce};
use support::workload::{self, Workload};
use support::{Decoded, cohere, floor, gemini, mistral, ollama, peer, stepwell};

const SMALL_CHUNK: usize = 1 << 10;

/// The most that the full path may take, as a multiple of the floor, and what it is meant to take.
const FLOOR_BAR: f64 = 1.0;
const FLOOR_GOAL: f64 = 0.75;

fn main() {
    let asked = Asked::with(15);
    introduce(&asked);
    let rounds = asked.rounds;
    let scale = if asked.is_bench { 1.0 } else { 0.01 };
    if let Some(name) = &asked.name {
        full_path(rounds, scale, name);
        other_formats(rounds, scale, name);
        return;
    }
    framing(rounds, scale);
    full_path(rounds, scale, "");
    parsed(rounds, scale);
    other_formats(rounds, scale, "");
    growth(rounds, scale);
    history(rounds, scale);
}

fn scaled(number: usize, scale: f64) -> usize {
    (number as f64 * scale) as usize / 64 * 64
}

fn w1(scale: f64) -> Workload {
    workload::text(scaled(20_000, scale))
}

fn w2(scale: f64) -> Workload {
    workload::calls(scaled(1 << 20, scale))
}

fn w3(scale: f64) -> Workload {
    workload::blocks(scaled(20_000, scale))
}

fn w4(scale: f64) -> Workload {
    workload::ag_ui(scaled(20_000, scale), scaled(10_000, scale), 0)
}

fn w6(scale: f64) -> Workload {
    support::responses::workload(scaled(20_000, scale), scaled(1 << 18, scale))
}

fn w5(history: usize, scale: f64) -> Workload {
    let mut work = workload::ag_ui(scaled(2_000, scale), 0, history);
    work.name = format!("W5 after {history}");
    work
}

fn framing(rounds: usize, scale: f64) {
    let work = w1(scale);
    let bytes = &work.bytes;
    println!("\nserver-sent events alone: W1 in chunks of 1 KiB");
    head("eventsource", "memchr");
    let table = in_turns(
        rounds,
        &[
            Box::new(|| timed(|count| stepwell::frames(bytes, SMALL_CHUNK, |_| *count += 1))),
            Box::new(|| timed(|count| peer::frames(bytes, SMALL_CHUNK, |_| *count += 1))),
            Box::new(|| timed(|count| floor::frames(bytes, SMALL_CHUNK, |_| *count += 1))),
        ],
    );
    row(&work.name, &table, "");
}

fn full_path(rounds: usize, scale: f64, name: &str) {
    println!("\nthe full path, bytes to conversation, every event taken: chunks of 16 KiB");
    head("es + serde", "floor");
    let works = [
        w1(scale),
        w2(scale),
        w3(scale),
        w4(scale),
        w5(0, scale),
        w6(scale),
    ];
    for work in works.into_iter().filter(|work| work.name.contains(name)) {
        let table = in_turns(
            rounds,
            &[
                Box::new(|| checked(&work, stepwell::decode(&work, CHUNK))),
                Box::new(|| checked(&work, peer::decode(&work, CHUNK))),
                Box::new(|| checked(&work, floor::decode(&work, CHUNK))),
            ],
        );
        let verdict = match table.ratio(0, 2) {
            _ if table.ratio(0, 1) >= 1.0 => "MISSED",
            ratio if ratio <= FLOOR_GOAL => "goal",
            ratio if ratio <= FLOOR_BAR => "met",
            _ => "MISSED",
        };
        let speed = Speed(&work, table.median(0));
        row(&work.name, &table, &format!("{verdict:<6}  {speed}"));
    }
    println!(
        "the bar: faster than eventsource-stream with serde, and at most {FLOOR_BAR} of the floor; the goal: \
         {FLOOR_GOAL} of it"
    );
}

/// Arguments that are parsed while they stream, which the floor does not do.
fn parsed(rounds: usize, scale: f64) {
    let work = w2(scale);
    let table = in_turns(
        rounds,
        &[
            Box::new(|| {
                let chunks = work.bytes.chunks(CHUNK);
                checked(&work, stepwell::decode_with(&work, chunks, true))
            }),
            Box::new(|| checked(&work, floor::decode(&work, CHUNK))),
        ],
    );
    let ratio = table.ratio(0, 1);
    let verdict = if ratio <= FLOOR_BAR { "met" } else { "MISSED" };
    println!(
        "  W2 with partial arguments: {:.3} ms, floor {:.3} ms, ratio {ratio:.2}  {verdict}",
        table.median(0),
        table.median(1)
    );
}

/// A stream, and its floor.
type Format = (Workload, fn(&Workload, usize) -> Decoded);

/// Measures the formats that have no peer, compared with their own floors.
fn other_formats(rounds: usize, scale: f64, name: &str) {
    println!("\nthe full path in other formats, beside a floor of their own");
    let deltas = scaled(20_000, scale);
    let formats: [Format; 4] = [
        (cohere::stream(deltas, deltas / 2), cohere::floor),
        (mistral::stream(deltas), mistral::floor),
        (gemini::text(deltas), gemini::floor),
        (ollama::text(deltas), ollama::floor),
    ];
    for (work, floor) in formats {
        if !work.name.contains(name) {
            continue;
        }
        let table = in_turns(
            rounds,
            &[
                Box::new(|| checked(&work, stepwell::decode(&work, CHUNK))),
                Box::new(|| checked(&work, floor(&work, CHUNK))),
            ],
        );
        let (time, floor) = (table.median(0), table.median(1));
        let ratio = table.ratio(0, 1);
        let speed = work.bytes.len() as f64 / time / 1e3;
        println!(
            "  {:<18} {time:>9.3} ms, floor {floor:.3} ms, ratio {ratio:.2}, {speed:.0} MB/s",
            work.name
        );
    }
}

fn growth(rounds: usize, scale: f64) {
    println!("\nfour times the stream takes");
    for (small, large) in [
        (w1(scale), w1(4.0 * scale)),
        (w2(scale), w2(4.0 * scale)),
        (w3(scale), w3(4.0 * scale)),
        (w4(scale), w4(4.0 * scale)),
    ] {
        let table = in_turns(
            rounds,
            &[
                Box::new(|| checked(&large, stepwell::decode(&large, CHUNK))),
                Box::new(|| checked(&small, stepwell::decode(&small, CHUNK))),
                Box::new(|| checked(&large, floor::decode(&large, CHUNK))),
                Box::new(|| checked(&small, floor::decode(&small, CHUNK))),
            ],
        );
        println!(
            "  {:<18} {:>5.2} times the time (the floor: {:.2})",
            small.name,
            table.ratio(0, 1),
            table.ratio(2, 3)
        );
    }
}

fn history(rounds: usize, scale: f64) {
    println!("\nW5: the same 2,000 deltas after a longer history");
    let works = [w5(0, scale), w5(2_000, scale), w5(8_000, scale)];
    let ways: Vec<Way<'_>> = works
        .iter()
        .map(|work| Box::new(|| checked(work, stepwell::decode(work, CHUNK))) as Way<'_>)
        .collect();
    let table = in_turns(rounds, &ways);
    for (index, work) in works.iter().enumerate() {
        println!(
            "  {:<18} {:>8.3} ms, {:.2} of the time without",
            work.name,
            table.median(index),
            table.ratio(index, 0)
        );
    }
}

/// The throughput of a workload per second, from its total time in milliseconds.
struct Speed<'a>(&'a Workload, f64);

impl fmt::Display for Speed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(work, milliseconds) = self;
        let in_a_second = |number: usize| number as f64 / milliseconds * 1e3;
        write!(
            f,
            "{:>6.0} MB/s {:>5.2} million events/s",
            in_a_second(work.bytes.len()) / 1e6,
            in_a_second(work.frames) / 1e6
        )
    }
}

fn timed(work: impl FnOnce(&mut usize)) -> Duration {
    let mut count = 0;
    let start = Instant::now();
    work(&mut count);
    black_box(count);
    start.elapsed()
}

fn head(peer: &str, floor: &str) {
    println!(
        "  {:<18} {:>12} {peer:>14} {floor:>12} {:>12} {:>13}",
        "", "stepwell", "first ratio", "second ratio"
    );
}

fn row(name: &str, table: &Table, verdict: &str) {
    println!(
        "  {name:<18} {:>9.3} ms {:>11.3} ms {:>9.3} ms {:>12.2} {:>13.2}  {verdict}",
        table.median(0),
        table.median(1),
        table.median(2),
        table.ratio(0, 1),
        table.ratio(0, 2),
    );
}
