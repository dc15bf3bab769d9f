//! Several ways of doing something, in turns, so that what slows the machine down slows all of them down.

use std::time::Duration;

pub(crate) type Way<'a> = Box<dyn Fn() -> Duration + 'a>;

/// The times of each way, in milliseconds, round by round.
pub(crate) struct Table(Vec<Vec<f64>>);

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
