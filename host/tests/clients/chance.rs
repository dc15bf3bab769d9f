//! Where every choice of a seed comes from.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Numbers that follow from a seed. Each component that makes choices has its own numbers: its choices do not change
/// those of the others.
#[derive(Debug)]
pub(crate) struct Chance(Mutex<fastrand::Rng>);

impl Chance {
    /// Creates the numbers of `who` under a seed.
    pub(crate) fn of(seed: u64, who: &str) -> Self {
        // FNV-1a: the same on every machine.
        let hash = who.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(Mutex::new(fastrand::Rng::with_seed(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash,
        )))
    }

    fn numbers(&self) -> MutexGuard<'_, fastrand::Rng> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn below(&self, end: u64) -> u64 {
        self.numbers().u64(..end.max(1))
    }

    /// Returns `true` once in this number of times.
    pub(crate) fn one_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A place in a list of this length.
    pub(crate) fn index(&self, length: usize) -> usize {
        self.numbers().usize(..length)
    }

    pub(crate) fn of_slice<'a, T>(&self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// Returns a duration from a range of milliseconds.
    pub(crate) fn millis(&self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.numbers().u64(range))
    }
}
