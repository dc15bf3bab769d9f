//! Sessions: stored turns as a tree, as the history of the next run, and as the view of the user.
//!
//! A store keeps turns ([`Turn`]), each with the blocks that the run emitted to be stored
//! ([`Effect::Persist`](crate::run::Effect::Persist)). The turns of a thread are a tree ([`TurnTree`]), and a path of
//! the tree is a conversation: [`MessageBuilder`] builds the history for the next run, and [`SessionView`] the record of
//! the conversation, for lists and exports. [`ChatReducer`] builds [`ChatState`], the contents of a chat screen, from the
//! same turns and from the events of the turn under way.

mod build_view;
mod builder;
mod chat;
mod format;
mod pending;
mod title;
mod tree;
mod view;
mod view_state;

#[doc(inline)]
pub use crate::run::{SessionError, StoredTurn as Turn, TurnBlock, TurnHistory};
pub use builder::{MessageBuilder, TokenBudget};
pub use chat::{
    ChatCompaction, ChatConnection, ChatMessage, ChatPart, ChatProblem, ChatReducer, ChatRole,
    ChatState, ChatStatus, ChatUpdate, ToolCard, ToolCardProgress,
};
pub use format::FormattedResult;
pub use pending::pending;
pub use title::title;
pub use tree::TurnTree;
pub use view::{
    ActivityView, MessageView, Role, SessionView, ToolExecution, TurnView, ViewOptions,
};
