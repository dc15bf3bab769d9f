use crate::event::{ContentPart, MessageContent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of a tool call.
pub type ToolResult = Result<ToolOutput, ToolFailure>;

/// The output of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolOutput {
    /// The result for the model.
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
    /// Uses the text of a JSON string, and the JSON of any other value.
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => text.into(),
            other => other.to_string().into(),
        }
    }
}

/// The failure of a tool call. The model sees the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// The kind of failure.
    pub kind: ToolFailureKind,
    /// The description of the failure, for the model.
    pub message: String,
}

/// The kinds of tool failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ToolFailureKind {
    /// The tool ran and returned an error.
    Error,
    /// The tool's code broke off (a panic, an exception that it does not declare).
    Panicked,
    /// The tool took longer than it may.
    TimedOut,
    /// The call was not run: no such tool, or arguments that do not fit.
    Rejected,
    /// The user denied the call.
    Denied,
    /// The turn, or this call, was cancelled.
    Cancelled,
    /// The host stopped while the tool ran, so it is unknown whether the tool did its work.
    OutcomeUnknown,
    /// The call was not run because a limit of the turn was reached.
    LimitReached,
    /// The call was not run because the model had repeated the same call too often.
    Repeated,
}

impl ToolFailure {
    /// Creates a failure of this kind.
    #[must_use]
    pub fn new(kind: ToolFailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The tool ran and returned an error.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(ToolFailureKind::Error, message)
    }
}
