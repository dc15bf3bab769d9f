use super::json::members;
use crate::json_value::JsonValue;
use crate::same::same;
use serde::Serialize;
use stepwell_core::{conversation, event, run, tool};

/// What any event of a stream may carry besides its own fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct EventCommon {
    /// When it happened: milliseconds since the epoch by convention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// The provider's own event that this one was made from: any JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_event: Option<JsonValue>,
    /// What the sender attached: a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonValue>,
    /// The subagent that it belongs to; absent for the parent agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<String>,
    /// Fields that this version does not know: a JSON object.
    #[serde(flatten, serialize_with = "members")]
    pub extra: Option<JsonValue>,
}

/// The role of a text message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "lowercase")]
pub enum TextMessageRole {
    /// The app's own instructions, ranking above the user's.
    Developer,
    /// The app's own instructions.
    System,
    /// The model.
    Assistant,
    /// The user.
    User,
}

/// What an encrypted value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "kebab-case")]
pub enum EncryptedValueSubtype {
    /// A tool call.
    ToolCall,
    /// A message.
    Message,
}

/// Something an agent asks the user before it can go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct Interrupt {
    /// Names the interrupt; a `ResumeEntry` answers it.
    pub id: String,
    /// The kind of question, as the agent names it.
    pub reason: String,
    /// The question, for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The tool call it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The JSON Schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<JsonValue>,
    /// When the question lapses, as an ISO 8601 time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// What the sender attached: a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonValue>,
    /// The subagent that asks; absent for the parent agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<String>,
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum ToolCallStatus {
    /// Its arguments are still coming.
    Streaming,
    /// Its arguments are whole; it has not begun.
    Pending,
    /// The user is asked.
    AwaitingApproval,
    /// The app runs it.
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

/// What new pieces of a tool call's arguments changed in their value. `path` is a JSON Pointer (RFC 6901), `""` for the
/// whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ArgumentsChange {
    /// A member, or the next element of an array, begins. A number, `true`, `false` or `null` is whole; a string, array
    /// or object is empty, and grows until its `End`.
    Add {
        /// Where.
        path: String,
        /// The value it begins with: any JSON.
        value: JsonValue,
    },
    /// A string grows.
    Append {
        /// Which.
        path: String,
        /// By this.
        text: String,
    },
    /// A string, array or object is whole.
    End {
        /// Which.
        path: String,
    },
    /// The arguments are complete, and a key that came twice has another value than was said.
    Replace {
        /// The member, or the innermost thing around what differs.
        path: String,
        /// The value it has: any JSON.
        value: JsonValue,
    },
}

impl From<tool::OwnedChange> for ArgumentsChange {
    fn from(change: tool::OwnedChange) -> Self {
        use tool::OwnedChange as Change;
        match change {
            Change::Add { path, value } => Self::Add {
                path: path.into(),
                value: JsonValue::of(&value),
            },
            Change::Append { path, text } => Self::Append {
                path: path.into(),
                text: text.into(),
            },
            Change::End { path } => Self::End { path: path.into() },
            Change::Replace { path, value } => Self::Replace {
                path: path.into(),
                value: JsonValue::of(&value),
            },
        }
    }
}

/// What came of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ToolResult {
    /// It gave a result.
    Finished {
        /// The text of the result.
        content: String,
    },
    /// It gave nothing back; the model is shown why.
    Failed {
        /// What kind of failure it is.
        kind: ToolFailureKind,
        /// What went wrong.
        message: String,
    },
}

/// The kinds of tool failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum ToolFailureKind {
    /// The tool ran and gave an error.
    Error,
    /// The tool's code broke off: a panic, an exception that it does not declare.
    Panicked,
    /// The tool took longer than it may.
    TimedOut,
    /// The call was not run: no such tool, or arguments that do not fit.
    Rejected,
    /// The user said no.
    Denied,
    /// The turn, or this call, was cancelled.
    Cancelled,
    /// The app died while the tool ran: whether it did its work is not known.
    OutcomeUnknown,
    /// The call was not run since a limit of the turn was reached.
    LimitReached,
    /// The call was not run since the model had asked for the same again and again.
    Repeated,
}

/// Why a message that the user sent during the turn was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum SteeringRefusal {
    /// The turn ended before the message could be taken in: start another one with it.
    TurnOver,
    /// The app goes away: send it where the turn goes on.
    Disposed,
    /// Too many messages wait already.
    QueueFull,
    /// The conversation, or a message that waits, has the same id.
    DuplicateId,
    /// Only the user's own messages can be sent so.
    NotFromUser,
}

impl From<run::SteeringRefusal> for SteeringRefusal {
    fn from(refusal: run::SteeringRefusal) -> Self {
        match refusal {
            run::SteeringRefusal::TurnOver => Self::TurnOver,
            run::SteeringRefusal::Disposed => Self::Disposed,
            run::SteeringRefusal::QueueFull => Self::QueueFull,
            run::SteeringRefusal::DuplicateId => Self::DuplicateId,
            run::SteeringRefusal::NotFromUser => Self::NotFromUser,
        }
    }
}

impl From<event::Common> for EventCommon {
    fn from(common: event::Common) -> Self {
        Self {
            timestamp: common.timestamp,
            raw_event: common.raw_event.as_ref().map(JsonValue::of),
            metadata: common.metadata.as_ref().map(JsonValue::of),
            subagent_run_id: common.subagent_run_id,
            extra: (!common.extra.is_empty()).then(|| JsonValue::of(&common.extra)),
        }
    }
}

same!(
    TextMessageRole = event::TextMessageRole {
        Developer,
        System,
        Assistant,
        User
    }
);
same!(EncryptedValueSubtype = event::EncryptedValueSubtype { ToolCall, Message });

impl From<event::Interrupt> for Interrupt {
    fn from(interrupt: event::Interrupt) -> Self {
        Self {
            id: interrupt.id,
            reason: interrupt.reason,
            message: interrupt.message,
            tool_call_id: interrupt.tool_call_id.map(|id| id.into_string()),
            response_schema: interrupt.response_schema.as_ref().map(JsonValue::of),
            expires_at: interrupt.expires_at,
            metadata: interrupt.metadata.as_ref().map(JsonValue::of),
            subagent_run_id: interrupt.subagent_run_id,
        }
    }
}

same!(
    ToolCallStatus = conversation::ToolCallStatus {
        Streaming,
        Pending,
        AwaitingApproval,
        Executing,
        Deferred,
        Completed,
        Failed,
        Denied,
        Cancelled,
    }
);

impl From<tool::ToolResult> for ToolResult {
    fn from(result: tool::ToolResult) -> Self {
        match result {
            Ok(output) => Self::Finished {
                content: output.content.to_text(),
            },
            Err(failure) => Self::Failed {
                kind: failure.kind.into(),
                message: failure.message,
            },
        }
    }
}

same!(
    ToolFailureKind = tool::ToolFailureKind {
        Error,
        Panicked,
        TimedOut,
        Rejected,
        Denied,
        Cancelled,
        OutcomeUnknown,
        LimitReached,
        Repeated,
    }
);
