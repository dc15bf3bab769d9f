use crate::ToolCallId;
use serde::Serialize;
use serde_json::Value;

/// Something that a turn waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ChatPending {
    /// The id: that of the effect (`approve:0:1`, `ask:0:1:0`, `tool:0:1`), or that of the agent's interrupt.
    pub id: String,
    /// The provider's id for the call that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The label of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The arguments of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// What the turn waits for.
    pub kind: ChatPendingKind,
}

/// What a turn waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ChatPendingKind {
    /// The user's decision on whether the tool may run.
    Approval {
        /// The JSON Schema of the arguments, for an app that lets the user edit them; absent if the tool is unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
    },
    /// The user's answer to a question of the running tool.
    Question {
        /// The question.
        message: String,
        /// The JSON Schema that the answer fits.
        schema: Value,
    },
    /// The user's answer to an AG-UI agent.
    Interrupt {
        /// The agent's reason, a word for programs.
        reason: String,
        /// The agent's message.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The JSON Schema that the answer fits.
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// The deadline, in the agent's own form.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<String>,
    },
    /// The result of a deferred call. The user need not do anything.
    Result,
}

impl ChatPendingKind {
    /// Returns whether the user must act.
    #[must_use]
    pub fn needs_user(&self) -> bool {
        !matches!(self, Self::Result)
    }
}
