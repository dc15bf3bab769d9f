//! Several ways of doing something, in turns, so that what slows the machine down slows all of them down; and the bars.

use super::Decoded;
use super::workload::Workload;
use std::time::Duration;

/// The most that 4 times the size may take, as a multiple of the time.
pub(crate) const GROWTH_BAR: f64 = 4.5;

/// The chunks in which a network hands out a stream.
pub(crate) const CHUNK: usize = 16 << 10;

/// The options of a benchmark.
pub(crate) struct Asked {
    pub(crate) rounds: usize,
    /// `cargo test --benches` only sees whether it works: one round, and small.
    pub(crate) is_bench: bool,
    /// A part of the name of the only workloads that are wanted.
    pub(crate) name: Option<String>,
}

impl Asked {
    /// Reads the program's arguments: `--bench`, which cargo adds, the rounds (by default `usual`), and a name.
    pub(crate) fn with(usual: usize) -> Self {
        let mut asked = Self {
            rounds: usual,
            is_bench: false,
            name: None,
        };
        for argument in std::env::args().skip(1) {
            if argument == "--bench" {
                asked.is_bench = true;
            } else if let Ok(rounds) = argument.parse() {
                asked.rounds = rounds;
            } else if !argument.starts_with("--") {
                asked.name = Some(argument);
            }
        }
        if !asked.is_bench {
            asked.rounds = 1;
        }
        asked
    }
}

pub(crate) fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

/// The time of a decoding that gathered what it should.
pub(crate) fn checked(work: &Workload, decoded: Decoded) -> Duration {
    assert_eq!(
        (decoded.text, decoded.args),
        (work.text, work.args),
        "{}",
        work.name
    );
    decoded.time
}

pub(crate) type Way<'a> = Box<dyn Fn() -> Duration + 'a>;

/// The times of each way, in milliseconds, round by round.
pub(crate) struct Table(Vec<Vec<f64>>);

/// Says first what the figures are.
pub(crate) fn introduce(asked: &Asked) {
    let rounds = asked.rounds;
    println!("medians of {rounds} rounds in turns; the ratios are medians of each round's own");
}

pub(crate) fn in_turns(rounds: usize, ways: &[Way<'_>]) -> Table {
    let mut times = vec![Vec::new(); ways.len()];
    // The first round warms up.
    for round in 0..=rounds {
        for (way, times) in ways.iter().zip(&mut times) {
            let time = way();
            if round > 0 {
                times.push(time.as_secs_f64() * 1e3);
            }
        }
    }
    Table(times)
}

impl Table {
    pub(crate) fn median(&self, way: usize) -> f64 {
        median(self.0[way].clone())
    }

    pub(crate) fn ratio(&self, way: usize, other: usize) -> f64 {
        let pairs = self.0[way].iter().zip(&self.0[other]);
        median(pairs.map(|(time, other)| time / other).collect())
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
