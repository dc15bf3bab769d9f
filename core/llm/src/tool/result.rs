use crate::event::{ContentPart, MessageContent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What came of a tool call.
pub type ToolResult = Result<ToolOutput, ToolFailure>;

/// What a tool gave back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolOutput {
    /// The result, as the model is to see it.
    pub content: MessageContent,
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self {
            content: text.into(),
        }
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self {
            content: text.into(),
        }
    }
}

impl From<MessageContent> for ToolOutput {
    fn from(content: MessageContent) -> Self {
        Self { content }
    }
}

impl From<ContentPart> for ToolOutput {
    fn from(part: ContentPart) -> Self {
        MessageContent::from(part).into()
    }
}

impl From<Vec<ContentPart>> for ToolOutput {
    fn from(parts: Vec<ContentPart>) -> Self {
        MessageContent::from(parts).into()
    }
}

impl From<Value> for ToolOutput {
    /// A JSON string is its text; any other value is written as JSON.
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => text.into(),
            other => other.to_string().into(),
        }
    }
}

/// Why a tool call gave nothing back. The message is shown to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// What kind of failure it is.
    pub kind: ToolFailureKind,
    /// What went wrong, for the model to read.
    pub message: String,
}

/// The kinds of tool failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ToolFailureKind {
    /// The tool ran and gave an error.
    Error,
    /// The tool's code broke off (a panic, an exception that it does not declare).
    Panicked,
    /// The tool took longer than it may.
    TimedOut,
    /// The call was not run: no such tool, or arguments that do not fit.
    Rejected,
    /// The user said no.
    Denied,
    /// The turn, or this call, was cancelled.
    Cancelled,
    /// The host died while the tool ran: whether it did its work is not known.
    OutcomeUnknown,
    /// The call was not run since a limit of the turn was reached.
    LimitReached,
    /// The call was not run since the model had asked for the same again and again.
    Repeated,
}

impl ToolFailure {
    /// A failure of `kind`.
    #[must_use]
    pub fn new(kind: ToolFailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The tool ran and gave an error.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(ToolFailureKind::Error, message)
    }
}
