//! Turns as a store keeps them, and the conversation that is rebuilt from them.

mod error;
mod replay;
mod turn;

pub use error::SessionError;
pub(crate) use replay::{Rebuilt, rebuild, replay, replay_turn};
pub use turn::{Turn, TurnBlock, TurnHistory};
pub(crate) use turn::{in_sequence, usage_of_turn};
