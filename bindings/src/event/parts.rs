use super::json::members;
use crate::json_value::JsonValue;
use crate::same::same;
use serde::Serialize;
use stepwell_core::{conversation, tool};
use stepwell_mirror::mirror;

mirror! {
    /// What any event of a stream may carry besides its own fields.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_agui::event::Common)]
    pub struct EventCommon {
        /// Fields that this version does not know: a JSON object.
        #[serde(flatten, serialize_with = "members")]
        extra: Option<JsonValue> = (!extra.is_empty()).then(|| JsonValue::of(&extra)),
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(rename_all = "lowercase")]
    #[mirror(stepwell_agui::event::TextMessageRole)]
    pub enum TextMessageRole;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(rename_all = "kebab-case")]
    #[mirror(stepwell_agui::event::EncryptedValueSubtype)]
    pub enum EncryptedValueSubtype;

    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_agui::event::Interrupt)]
    pub struct Interrupt {
        - extra,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::SteeringRefusal)]
    pub enum SteeringRefusal;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_llm::tool::ToolFailureKind, both)]
    pub enum ToolFailureKind;

    /// What new pieces of a tool call's arguments changed in their value. `path` is a JSON Pointer (RFC 6901), `""` for the
    /// whole.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
    #[mirror(stepwell_llm::tool::OwnedChange)]
    pub enum ArgumentsChange {
        /// A member, or the next element of an array, begins. A number, `true`, `false` or `null` is whole; a string, array
        /// or object is empty, and grows until its `End`.
        Add {
            /// Where.
            path,
            /// The value it begins with: any JSON.
            value,
        },
        /// A string grows.
        Append,
        /// A string, array or object is whole.
        End,
        /// The arguments are complete, and a key that came twice has another value than was said.
        Replace,
    }
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
