//! A tool's replies to calls.

use stepwell_core::tool::{ToolFailure, ToolResult};

/// A tool's reply to one call.
#[derive(Clone, Debug)]
pub struct ToolReply {
    /// The result; `None` if the tool never finishes.
    pub result: Option<ToolResult>,
    /// The time that the tool takes, in milliseconds.
    pub takes: u64,
}

impl ToolReply {
    /// A result with this text, after 5 ms.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self {
            result: Some(Ok(text.into())),
            takes: 5,
        }
    }

    /// A failure with this message, after 5 ms.
    #[must_use]
    pub fn failure(message: &str) -> Self {
        Self {
            result: Some(Err(ToolFailure::error(message))),
            takes: 5,
        }
    }

    /// A call that never finishes.
    #[must_use]
    pub const fn never() -> Self {
        Self {
            result: None,
            takes: 0,
        }
    }

    /// Sets the time that the tool takes, in milliseconds.
    #[must_use]
    pub const fn after(mut self, millis: u64) -> Self {
        self.takes = millis;
        self
    }
}
