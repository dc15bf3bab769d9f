//! The rules of [`EventStore`](crate::store::EventStore): the event logs of turns, and their followers.

mod log;
mod readers;

pub use super::model::any_order_of_event_calls_matches_the_model;
pub use log::*;
pub use readers::*;

/// Events that name their indexes.
fn events(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|number| format!("{{\"n\":{number}}}")).collect()
}
