use crate::tool::ToolResult;
use crate::{CallKey, ToolCallId};
use serde::{Deserialize, Serialize};

/// A tool call of the hop in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveCall {
    /// The call's place in the run.
    pub key: CallKey,
    /// The provider's id for it.
    pub id: ToolCallId,
    /// The name of the tool.
    pub name: String,
    /// The call's status.
    pub status: ToolCallStatus,
    /// The call's result, once there is one. A call that the backend answered itself has none here.
    pub result: Option<ToolResult>,
    /// The arguments that the user put instead of the model's when approving the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
    /// The arguments that a hook of the app put instead of the model's, before the user was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// The number of times that the tool was started again after its host had died.
    #[serde(default, skip_serializing_if = "crate::zero::is_zero")]
    pub restarts: u32,
}

// The form that serde asks for.
/// The status of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ToolCallStatus {
    /// The arguments are still arriving.
    Streaming,
    /// The arguments are complete; the call has not begun.
    Pending,
    /// The user is asked.
    AwaitingApproval,
    /// The host runs it.
    Executing,
    /// The result comes later: in minutes, or days.
    Deferred,
    /// The call returned a result.
    Completed,
    /// The call returned an error.
    Failed,
    /// The user denied the call.
    Denied,
    /// The call was cancelled.
    Cancelled,
}

impl ToolCallStatus {
    /// Returns whether nothing more will happen to the call.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Denied | Self::Cancelled
        )
    }
}
