//! One turn: what it begins with, how it is driven, and what is reported of it.

pub(crate) mod agent;
pub(crate) mod announce;
pub(crate) mod answers;
pub(crate) mod asking;
pub(crate) mod brought;
mod call_labels;
pub(crate) mod compactions;
pub(crate) mod drive;
pub(crate) mod ending;
pub(crate) mod event_writer;
mod failure_report;
pub(crate) mod in_runs;
pub(crate) mod interrupts;
pub(crate) mod lost_end;
pub mod models;
pub(crate) mod questions;
mod reading;
pub(crate) mod rounds;
pub(crate) mod run_clock;
pub(crate) mod runs;
mod session_state;
pub(crate) mod session_turn;
pub(crate) mod shared_state;
pub(crate) mod stop;
pub(crate) mod store_trouble;
mod store_waits;
pub(crate) mod stored;
mod told_progress;
pub(crate) mod usage;
pub(crate) mod valid_order;

pub use answers::Unresumable;
