use super::json::{reasoning_message, tool_call_result};
use super::parts::{
    ArgumentsChange, Compaction, EncryptedValueSubtype, EventCommon, Interrupt, SteeringRefusal,
    TextMessageRole, ToolCallStatus, ToolResult, parts,
};
use crate::effect::CallKey;
use crate::hook::HookMoment;
use crate::json_value::JsonValue;
use crate::model_choice::ModelName;
use crate::outcome::{ErrorKind, Outcome};
use crate::pending::Pending;
use crate::time::Duration;
use serde::Serialize;
use stepwell_mirror::mirror;

mirror! {
    /// The events of a turn that the user is shown. From `Started` to `Completed` it is one unbroken turn, however many
    /// hops the turn takes.
    ///
    /// In addition to the events of the turn itself, these are the AG-UI events of its streams, with AG-UI's names:
    /// text, reasoning, tool calls, state and the rest. In JSON the AG-UI events have AG-UI's form, with the fields
    /// that are left out here.
    // The deltas of text come first, since readers of this enum in some languages try one variant after the other.
    #[derive(Clone, Debug, PartialEq, Serialize, uniffi::Enum)]
    #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
    #[mirror(
        stepwell_core::run::RunEvent,
        first(TextMessageContent, ToolCallArgs, ReasoningMessageContent),
        last(Unknown)
    )]
    #[mirror(stepwell_agui::event::Event, flatten, rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum Event {
        // The events of the turn itself.
        - AgUi => payload.into(),
        /// A tool call changed its status.
        ..ToolCallUpdate,
        /// The values in new deltas of a tool call's arguments; only with `RunConfig.partial_arguments`. Applied in
        /// order, beginning with `null`, the changes build the value of the arguments received so far. A change of the
        /// whole value (path `""`) starts again.
        ..PartialArguments,
        Retrying {
            /// The time until then.
            delay,
        },
        AnswerDropped {
            /// The effect's id.
            effect,
        },
        /// The agent asks the user; the turn is idle until it is resumed.
        Interrupted,
        Pending,
        Completed {
            /// How the turn ended.
            outcome: Outcome = payload.into(),
        },
        SteeringRefused {
            /// The complete message: an AG-UI message in JSON.
            message,
            reason,
            /// The same in a sentence.
            explanation: String = reason.to_string(),
        },
        WaitingForNetwork {
            /// The longest possible wait.
            up_to,
        },
        /// The values in new deltas of the typed answer, parsed while the answer streams. Applied in order, beginning
        /// with `null`, the changes build the value received so far; each change is final. An answer that is asked for
        /// again starts again, with an `Add` of the whole value (path `""`). No value is checked yet.
        ..PartialOutput,
        OutputRefused {
            /// The message to the model, where the answer was no call of the final tool: an AG-UI user message with
            /// `correction` in its metadata, which is in the history from now on.
            correction,
        },
        ..ToolProgress,
        /// A running tool shows its partial result, which replaces the previous one.
        ..ToolPartialResult {
            - output,
            /// The text of the result so far.
            content: String = output.content.to_text(),
            /// The complete result so far where it is more than text: a JSON array of content parts.
            parts: Option<JsonValue> = parts(&output.content),
        },
        // Those of AG-UI.
        TextMessageContent { - common },
        ToolCallArgs { - common },
        ReasoningMessageContent { - common },
        #[serde(serialize_with = "tool_call_result")]
        ToolCallResult {
            - role,
            /// The text of the result.
            content: String = content.to_text(),
            /// The complete result where it is more than text: a JSON array of content parts.
            parts: Option<JsonValue> = parts(&content),
        },
        #[serde(serialize_with = "reasoning_message")]
        ReasoningMessageStart { - role },
        // Chunks have been expanded by now, and a hop's beginning and end are not the turn's.
        - TextMessageChunk
            | ToolCallChunk
            | ReasoningMessageChunk
            | RunStarted
            | RunFinished
            | RunError
            | Unknown
            => Self::Unknown {
                kind: core.kind().to_owned(),
                event: JsonValue::of(&core),
            },
        /// An event of a type that this version does not know, kept unchanged.
        #[serde(skip)]
        + Unknown {
            /// The `type` of the event.
            kind: String,
            /// The complete event: a JSON object.
            event: JsonValue,
        },
    }
}
