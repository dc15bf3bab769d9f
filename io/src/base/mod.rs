//! What every folder may need: locks, the clock of a turn, panics.

mod clock;
mod lock;
mod panic;

pub(crate) use clock::Clock;
pub(crate) use lock::lock;
pub(crate) use panic::catch_panic;
