//! A turn under way, for hosts: its raw events, its handle, its end, and the errors of stored turns.

pub(crate) mod alarm;
pub(crate) mod caller;
mod chunks;
pub(crate) mod current;
pub(crate) mod driver;
mod effects;
pub(crate) mod events;
pub(crate) mod finished;
pub(crate) mod handle;
pub(crate) mod journaled;
pub(crate) mod owner;
#[cfg(feature = "aws")]
mod signature;
mod stream;

pub use crate::agent::recover::Recovered;
pub use crate::agent::revive::ReviveError;
pub use crate::durable::StoredTurn;
pub use events::TurnEvents;
pub use finished::Finished;
pub use handle::{TurnError, TurnHandle};
pub use stepwell_core::event::Event;
pub use stepwell_core::run::{
    Deadline, Failure, Incomplete, Misuse, Outcome, PartialArgumentsUpdate, Problem, RunEvent,
    SnapshotError, Start, SteeringRefusal, ToolCallUpdate, ToolPartialResult, ToolProgress,
    TurnLimit,
};
