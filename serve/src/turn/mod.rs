//! One turn: what it is begun with, how it is driven, and what is told of it.

pub(crate) mod announce;
pub(crate) mod answers;
pub(crate) mod asking;
mod call_labels;
pub(crate) mod drive;
pub(crate) mod ending;
pub(crate) mod event_writer;
pub(crate) mod interrupts;
mod kept;
pub(crate) mod lawful;
pub(crate) mod lost_end;
pub mod models;
pub(crate) mod questions;
pub(crate) mod rounds;
pub(crate) mod run_clock;
mod session_state;
pub(crate) mod session_turn;
pub(crate) mod shared_state;
pub(crate) mod stop;
pub(crate) mod store_trouble;
mod store_waits;
pub(crate) mod stored;
mod told_progress;
pub(crate) mod turn_tools;

pub use answers::Unresumable;
