use super::json::{reasoning_message, tool_call_result};
use super::parts::{
    ArgumentsChange, EncryptedValueSubtype, EventCommon, Interrupt, SteeringRefusal,
    TextMessageRole, ToolCallStatus, ToolResult,
};
use crate::effect::CallKey;
use crate::hook::HookMoment;
use crate::json_value::JsonValue;
use crate::outcome::Outcome;
use crate::time::Duration;
use serde::Serialize;
use stepwell_core::event::MessageContent;
use stepwell_mirror::mirror;

mirror! {
    /// What the user is shown of a turn. From `Started` to `Completed` it is one unbroken turn, however many hops it
    /// takes.
    ///
    /// Beside the events of the turn itself these are the AG-UI events of its streams, with AG-UI's names: text, reasoning,
    /// tool calls, state and the rest. In JSON those are written as AG-UI has them, and so is what has more there than here.
    // The pieces of text stand first since readers of this enum in some languages try one variant after the other.
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
        /// A tool call moved on.
        ..ToolCallUpdate,
        /// What new pieces of a tool call's arguments say, parsed; only with `RunConfig.partial_arguments`. Applied in order,
        /// beginning with `null`, the changes make the value of what came so far. A change of the whole (path `""`) begins
        /// anew.
        ..PartialArguments,
        Retrying {
            /// How long until then.
            delay,
        },
        AnswerDropped {
            /// The effect's id.
            effect,
        },
        /// The agent asks the user; the turn rests until it is resumed.
        Interrupted,
        Completed {
            /// How it ended.
            outcome: Outcome = payload.into(),
        },
        SteeringRefused {
            /// The message, whole: an AG-UI message in JSON.
            message,
            reason,
            /// The same in a sentence.
            explanation: String = reason.to_string(),
        },
        WaitingForNetwork {
            /// How long at most.
            up_to,
        },
        /// What new pieces of the typed answer say, parsed while it streams. Applied in order, beginning with `null`, the
        /// changes make the value of what came so far; each is final. An answer that is asked for again begins again, with an
        /// `Add` of the whole (path `""`). Nothing of it is checked yet.
        ..PartialOutput,
        OutputRefused {
            /// What the model is told, where the answer was no call of the final tool: an AG-UI user message of the app's, with
            /// `correction` in its metadata, which the history has from now on.
            correction,
        },
        ..ToolProgress,
        /// A running tool shows what it has so far, in the place of what it showed before.
        ..ToolPartialResult {
            - output,
            /// The text of the result so far.
            content: String = output.content.to_text(),
            /// The whole of it where it is more than text: a JSON array of content parts.
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
        // Chunks are in the long form by now, and a hop's beginning and end are not the turn's.
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
        /// An event of a type that this version does not know, kept as it came.
        #[serde(skip)]
        + Unknown {
            /// Its `type`.
            kind: String,
            /// All of it: a JSON object.
            event: JsonValue,
        },
    }
}

/// The parts of a content that is more than text.
fn parts(content: &MessageContent) -> Option<JsonValue> {
    matches!(content, MessageContent::Parts(_)).then(|| JsonValue::of(content))
}
