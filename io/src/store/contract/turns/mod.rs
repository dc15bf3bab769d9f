//! The rules of [`TurnStore`](crate::store::TurnStore): turns and their blocks, owners, commands, conversations.

mod blocks;
mod commands;
mod conversations;
mod limits;
mod owners;

pub use super::model::any_order_of_turn_calls_matches_the_model;
pub use blocks::*;
pub use commands::*;
pub use conversations::*;
pub use limits::*;
pub use owners::*;
