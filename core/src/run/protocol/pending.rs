//! What a turn waits for, as data.

use super::question::Question;
use crate::{Timestamp, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that a turn waits for: the user's decision on a call, the answer to a running tool's question, or the result
/// of a deferred call.
///
/// A turn lists what waits as [`RunMachine::pending`](crate::run::RunMachine::pending), a stored turn as
/// [`session::pending`](crate::session::pending).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Pending {
    /// The id under which the answer is given: that of the call, or for a question that of the call and the question's
    /// number (`call_1/0`).
    pub id: String,
    /// The kind of answer that is awaited.
    pub kind: PendingKind,
    /// The provider's id for the call.
    pub tool_call_id: ToolCallId,
    /// The name of the tool.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// The text that the user sees for the call, if the tool has a label for these arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The text of the tool's question. Absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The JSON Schema of the answer: of the arguments that may replace the model's, or of the answer to the question.
    /// Absent for a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The time at which the turn stops waiting; absent if it waits without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// The kind of answer that a turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum PendingKind {
    /// The user's decision: whether the call may run, and with which arguments.
    Approval,
    /// The user's answer to a question of the running tool.
    Question,
    /// The result of a call that its tool has deferred.
    Result,
}

/// The call that something is awaited for.
pub(crate) struct PendingCall {
    pub(crate) tool_call_id: ToolCallId,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) label: Option<String>,
}

impl PendingCall {
    /// Returns the pending decision of the user on the call.
    pub(crate) fn approval(self, schema: Value, deadline: Option<Timestamp>) -> Pending {
        let id = self.tool_call_id.as_str().to_owned();
        let schema = Some(schema);
        self.pending(PendingKind::Approval, id, None, schema, deadline)
    }

    /// Returns the pending answer to a question of the call.
    pub(crate) fn question(
        self,
        number: u32,
        question: Question,
        deadline: Option<Timestamp>,
    ) -> Pending {
        let id = format!("{}/{number}", self.tool_call_id);
        let (message, schema) = (Some(question.message), Some(question.schema));
        self.pending(PendingKind::Question, id, message, schema, deadline)
    }

    /// Returns the pending result of the call.
    pub(crate) fn result(self, deadline: Option<Timestamp>) -> Pending {
        let id = self.tool_call_id.as_str().to_owned();
        self.pending(PendingKind::Result, id, None, None, deadline)
    }

    fn pending(
        self,
        kind: PendingKind,
        id: String,
        message: Option<String>,
        schema: Option<Value>,
        deadline: Option<Timestamp>,
    ) -> Pending {
        Pending {
            id,
            kind,
            tool_call_id: self.tool_call_id,
            tool: self.tool,
            arguments: self.arguments,
            label: self.label,
            message,
            schema,
            deadline,
        }
    }
}
