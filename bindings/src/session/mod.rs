//! Sessions: what a store keeps of a conversation, and how the user sees the conversation.

mod chat;
mod record;
#[cfg(feature = "uniffi")]
mod view;

pub use chat::read_run_event;
#[cfg(feature = "uniffi")]
pub use chat::{
    ChatCompaction, ChatConnection, ChatMessage, ChatPart, ChatProblem, ChatReducer, ChatRole,
    ChatState, ChatStatus, ChatUpdate, ToolCard, ToolCardProgress,
};
pub use record::{TurnBlock, TurnRecord};
#[cfg(feature = "uniffi")]
pub use view::{
    ActivityView, MessageView, Role, SessionView, ToolExecution, TurnView, conversation_of,
    session_view,
};
#[cfg(feature = "agent")]
pub(crate) use view::{transcript, view};
