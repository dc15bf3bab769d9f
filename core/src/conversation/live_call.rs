use crate::tool::ToolResult;
use crate::{CallKey, ToolCallId};
use serde::{Deserialize, Serialize};

/// A tool call of the hop in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveCall {
    /// Its place in the run.
    pub key: CallKey,
    /// The provider's id for it.
    pub id: ToolCallId,
    /// The tool it asks for.
    pub name: String,
    /// Where it stands.
    pub status: ToolCallStatus,
    /// What came of it, once something has. A call that the backend answered itself has none here.
    pub result: Option<ToolResult>,
    /// The arguments that the user put in the place of the model's, when they let it run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
    /// The arguments that a hook of the app's put in the place of the model's, before the user was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// How often its tool was begun again since its host had died.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
}

// The form that serde asks for.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// Its arguments are still coming.
    Streaming,
    /// Its arguments are whole; it has not begun.
    Pending,
    /// The user is asked.
    AwaitingApproval,
    /// The host runs it.
    Executing,
    /// Its result comes later: in minutes, or days.
    Deferred,
    /// It gave a result.
    Completed,
    /// It gave an error.
    Failed,
    /// The user said no.
    Denied,
    /// It was cancelled.
    Cancelled,
}

impl ToolCallStatus {
    /// Whether nothing more will happen to the call.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Denied | Self::Cancelled
        )
    }
}
