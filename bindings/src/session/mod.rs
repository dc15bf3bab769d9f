//! Sessions: what a store keeps of a conversation, and how the user is shown it.

mod record;
mod view;

pub use record::{TurnBlock, TurnRecord};
pub use view::{
    ActivityView, MessageView, Role, SessionView, ToolExecution, TurnView, conversation_of,
    session_view,
};
#[cfg(feature = "agent")]
pub(crate) use view::{conversation, view};
