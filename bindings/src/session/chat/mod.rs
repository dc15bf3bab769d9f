//! The contents of a chat screen.

mod read;
#[cfg(feature = "uniffi")]
mod records;
#[cfg(feature = "uniffi")]
mod reducer;

pub use read::read_run_event;
#[cfg(feature = "uniffi")]
pub use records::{
    ChatCompaction, ChatConnection, ChatMessage, ChatPart, ChatProblem, ChatRole, ChatState,
    ChatStatus, ChatUpdate, ToolCard, ToolCardProgress,
};
#[cfg(feature = "uniffi")]
pub use reducer::ChatReducer;
