//! What a turn waits for, listed and answered from any process: approvals, questions and results of deferred calls.

mod conversation;
mod listener;
mod owner;
pub(crate) mod reply;
mod store;
mod turn;

pub use listener::{Heard, SentReply};
pub use reply::Reply;
pub use store::pending;
