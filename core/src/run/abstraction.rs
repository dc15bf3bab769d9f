//! What the model checker leaves out of a run when it asks whether two are alike.

use super::protocol::EffectId;
use serde::Serialize;
use std::hash::{Hash, Hasher};
use std::io;

/// What the canonical form leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abstraction {
    /// When the timers are due, and what time it is. Any timer may then fire at any moment.
    pub time: bool,
    /// How many blocks are stored: sequence numbers count from there.
    pub numbers: bool,
    /// What was said in hops that are over, the texts of blocks, and how much was recorded.
    pub history: bool,
    /// What came of calls that are done, until the next hop's request is made of it.
    pub results: bool,
}

impl Abstraction {
    /// Leaves out all that it may.
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
