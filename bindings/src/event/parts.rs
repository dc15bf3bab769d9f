use super::json::{finished, members};
use crate::json_value::JsonValue;
use serde::{Deserialize, Serialize};
use stepwell_core::event::MessageContent;
use stepwell_core::tool;
use stepwell_mirror::mirror;

mirror! {
    /// The fields that any event of a stream may carry in addition to its own.
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

    /// A change that a new delta made to the value of a tool call's arguments. `path` is a JSON Pointer (RFC 6901),
    /// `""` for the whole value.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
    #[mirror(stepwell_llm::tool::OwnedChange)]
    pub enum ArgumentsChange {
        /// A member, or the next element of an array, begins. A number, `true`, `false` or `null` is complete; a
        /// string, array or object is empty, and grows until its `End`.
        Add {
            /// Where the value is added.
            path,
            /// The initial value: any JSON.
            value,
        },
        /// A string grows.
        Append,
        /// A string, array or object is complete.
        End,
        /// The arguments are complete, and a key that occurred twice has another value than reported before.
        Replace,
    }
}

mirror! {
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", default)]
    #[mirror(stepwell_core::transcript::Compaction, both)]
    pub struct Compaction;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::transcript::ToolCallStatus, both)]
    pub enum ToolCallStatus {
        /// The app runs the tool.
        Executing,
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ToolResult {
    /// The tool returned a result.
    #[serde(serialize_with = "finished")]
    Finished {
        /// The text of the result.
        content: String,
        /// The complete result where it is more than text: a JSON array of content parts.
        parts: Option<JsonValue>,
    },
    /// The tool returned nothing; the model is shown why.
    Failed {
        /// The kind of the failure.
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
                parts: parts(&output.content),
            },
            Err(failure) => Self::Failed {
                kind: failure.kind.into(),
                message: failure.message,
            },
        }
    }
}

/// Returns the parts of a content that is more than text.
pub(super) fn parts(content: &MessageContent) -> Option<JsonValue> {
    matches!(content, MessageContent::Parts(_)).then(|| JsonValue::of(content))
}
