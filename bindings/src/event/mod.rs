//! The events of a turn that the user is shown.

mod ag_ui;
mod json;
mod parts;

pub use ag_ui::Event;
pub use json::event_to_json;
pub use parts::{
    ArgumentsChange, Compaction, EncryptedValueSubtype, EventCommon, Interrupt, SteeringRefusal,
    TextMessageRole, ToolCallStatus, ToolFailureKind, ToolResult,
};
