//! Sessions: what a store keeps of a conversation, as turns of blocks.

mod turn;

pub use turn::{Turn, TurnBlock};
