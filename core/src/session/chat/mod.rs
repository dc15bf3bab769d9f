//! The state of a chat screen: [`ChatState`], and [`ChatReducer`], which builds it from stored turns and from the events
//! of the turn under way.

mod apply;
mod build;
mod layout;
mod media;
mod message;
mod problem;
mod reducer;
mod state;
mod update;

pub use message::{ChatMessage, ChatPart, ChatRole, ToolCard, ToolCardProgress};
pub use problem::ChatProblem;
pub use reducer::ChatReducer;
pub use state::{ChatCompaction, ChatConnection, ChatState, ChatStatus};
pub use update::ChatUpdate;
