//! The parts of a run that the model checker leaves out when it compares two runs.

use super::protocol::EffectId;
use serde::Serialize;
use std::hash::{Hash, Hasher};
use std::io;

/// The parts that the canonical form leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abstraction {
    /// The due times of the timers, and the present time. Any timer may then fire at any moment.
    pub time: bool,
    /// The number of stored blocks: sequence numbers count from there.
    pub numbers: bool,
    /// The texts of finished hops and of blocks, and the recorded lengths.
    pub history: bool,
    /// The results of finished calls, until the next hop's request is built from them.
    pub results: bool,
}

impl Abstraction {
    /// Leaves out all of them.
    pub const ALL: Self = Self {
        time: true,
        numbers: true,
        history: true,
        results: true,
    };

    /// Leaves out nothing.
    pub const NONE: Self = Self {
        time: false,
        numbers: false,
        history: false,
        results: false,
    };

    /// An effect's id, with a write's number counted from what is stored.
    #[must_use]
    pub fn effect(&self, id: EffectId, durable: u64) -> EffectId {
        match id {
            EffectId::Persist { sequence } => EffectId::Persist {
                sequence: self.number(sequence, durable),
            },
            id => id,
        }
    }

    /// A sequence number, counted from what is stored.
    #[must_use]
    pub fn number(&self, number: u64, durable: u64) -> u64 {
        if self.numbers {
            number.wrapping_sub(durable)
        } else {
            number
        }
    }
}

/// Hashes what serde makes of a value.
pub(super) fn json(value: &impl Serialize, out: &mut impl Hasher) {
    struct Sink<'a, H>(&'a mut H);
    impl<H: Hasher> io::Write for Sink<'_, H> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let written = serde_json::to_writer(Sink(out), value);
    debug_assert!(written.is_ok(), "every part of a run can be serialised");
    u8::MAX.hash(out);
}
