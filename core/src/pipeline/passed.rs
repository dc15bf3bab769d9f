//! The verdict on an event of a stream that was opened again.

use crate::event::Event;

/// The verdict on an event of a stream that was opened again.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Passed {
    /// The event is new.
    Taken,
    /// The event was seen before the break.
    Dropped,
    /// The event is a delta that was seen in part before the break: this is the new part.
    Rest(Box<Event>),
    /// The event is a snapshot.
    Synced,
    /// The event is new, and these come before it, for what began or ended unseen.
    After(Vec<Event>),
}
