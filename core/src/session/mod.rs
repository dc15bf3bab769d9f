//! Sessions: what a store keeps of a conversation, and how it comes back from there.
//!
//! A store keeps turns ([`Turn`]), each with the blocks that the run gave out to be stored
//! ([`Effect::Persist`](crate::run::Effect::Persist)). The turns of a thread are a tree ([`TurnTree`]), and a path of it
//! is a conversation: [`MessageBuilder`] makes the history of it that the next run begins with, and [`SessionView`]
//! what the user is shown. While a turn runs, [`LiveSession`] makes the same view of its events.

mod build_view;
mod builder;
mod format;
mod live;
mod title;
mod tree;
mod view;
mod view_state;

#[doc(inline)]
pub use crate::run::{SessionError, StoredTurn as Turn, TurnBlock, TurnHistory};
pub use builder::{MessageBuilder, TokenBudget};
pub use format::FormattedResult;
pub use live::LiveSession;
pub use title::title;
pub use tree::TurnTree;
pub use view::{
    ActivityView, MessageView, Role, SessionView, ToolExecution, TurnView, ViewOptions,
};
