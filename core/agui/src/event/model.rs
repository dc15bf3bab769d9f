use super::common::Common;
use super::content::MessageContent;
use super::field::{
    EventError, Metadata, Optional, OptionalJson, PutField, Required, optional, required,
};
use super::message::Message;
use super::outcome::{RunOutcome, SubagentOutcome, TokenUsage};
use super::patch::operations;
use super::run_input::RunAgentInput;
use crate::{MessageId, RunId, ThreadId, ToolCallId};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

// One line per field: its presence (`required`; `optional`; `json`, an optional field of any JSON but null; `patch`, a
// required JSON Patch), its name, its type, its name on the wire.
macro_rules! events {
    (@type required $type:ty) => { $type };
    (@type optional $type:ty) => { Option<$type> };
    (@type json $type:ty) => { Option<$type> };
    (@type patch $type:ty) => { $type };
    (@take required $map:expr, $kind:expr, $wire:expr) => { required($map, $kind, $wire)? };
    (@take optional $map:expr, $kind:expr, $wire:expr) => { optional($map, $kind, $wire)? };
    (@take json $map:expr, $kind:expr, $wire:expr) => { optional($map, $kind, $wire)? };
    (@take patch $map:expr, $kind:expr, $wire:expr) => { operations($map, $kind, $wire)? };
    (@put required $value:expr) => { Required($value) };
    (@put optional $value:expr) => { Optional($value) };
    (@put json $value:expr) => { OptionalJson($value) };
    (@put patch $value:expr) => { Required($value) };
    ($(
        $(#[$doc:meta])*
        $name:ident = $kind:literal {
            $( $(#[$field_doc:meta])* $presence:ident $field:ident: $type:ty = $wire:literal, )*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq)]
            #[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
            pub struct $name {
                $( $(#[$field_doc])* pub $field: events!(@type $presence $type), )*
                /// The fields that all events share; `None` if the event has none of them.
                pub common: Option<Box<Common>>,
            }

            impl $name {
                /// The event's `type` on the wire.
                pub const KIND: &'static str = $kind;
            }

            impl From<$name> for Event {
                fn from(event: $name) -> Self {
                    Self::$name(event)
                }
            }
        )*

        /// An AG-UI event, owned and complete.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
        #[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
        pub enum Event {
            $( $(#[$doc])* $name($name), )*
            /// An event of a type that this version does not know, kept unchanged.
            Unknown(UnknownEvent),
        }

        impl Event {
            /// The event's `type` on the wire.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $( Self::$name(_) => $kind, )*
                    Self::Unknown(event) => &event.kind,
                }
            }

            /// Returns the fields that all events share; `None` for an unknown event.
            #[must_use]
            pub fn common(&self) -> Option<&Common> {
                match self {
                    $( Self::$name(event) => event.common.as_deref(), )*
                    Self::Unknown(_) => None,
                }
            }

            /// Returns a mutable reference to the fields that all events share; `None` for an unknown event.
            pub fn common_mut(&mut self) -> Option<&mut Option<Box<Common>>> {
                match self {
                    $( Self::$name(event) => Some(&mut event.common), )*
                    Self::Unknown(_) => None,
                }
            }

            /// Reads an event from its JSON object.
            ///
            /// # Errors
            /// The object has no `type`, or a field that is missing or malformed.
            pub fn from_object(mut map: Map<String, Value>) -> Result<Self, EventError> {
                let kind = match map.get("type") {
                    Some(Value::String(kind)) if !kind.is_empty() => kind.clone(),
                    _ => return Err(EventError::NoType),
                };
                match kind.as_str() {
                    $( $kind => {
                        map.shift_remove("type");
                        Ok(Self::$name($name {
                            $( $field: events!(@take $presence &mut map, $kind, $wire), )*
                            common: Common::take(&mut map, $kind)?,
                        }))
                    } )*
                    _ => {
                        map.shift_remove("type");
                        Ok(Self::Unknown(UnknownEvent { kind, fields: map }))
                    }
                }
            }
        }

        impl Serialize for Event {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("type", self.kind())?;
                match self {
                    $( Self::$name(event) => {
                        $( events!(@put $presence &event.$field).put($wire, &mut map)?; )*
                        if let Some(common) = &event.common {
                            common.put(&mut map)?;
                        }
                    } )*
                    Self::Unknown(event) => {
                        for (field, value) in &event.fields {
                            map.serialize_entry(field, value)?;
                        }
                    }
                }
                map.end()
            }
        }
    };
}

/// An event of a type that this version does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownEvent {
    /// The event's `type`.
    pub kind: String,
    /// The event's other fields.
    pub fields: Metadata,
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_object(Map::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The role of a text message. An absent role is the assistant's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
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

/// The role of a reasoning message: there is only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningRole {
    /// Reasoning.
    #[default]
    Reasoning,
}

/// The role of a tool message: there is only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolRole {
    /// A tool.
    #[default]
    Tool,
}

/// The kind of item that an encrypted value belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum EncryptedValueSubtype {
    /// A tool call.
    ToolCall,
    /// A message.
    #[default]
    Message,
}

events! {
    /// A run starts.
    RunStarted = "RUN_STARTED" {
        /// The conversation.
        required thread_id: ThreadId = "threadId",
        /// The run.
        required run_id: RunId = "runId",
        /// The agent's protocol version; absent before 1.0.
        optional protocol_version: String = "protocolVersion",
        /// The run that this run continues.
        optional parent_run_id: RunId = "parentRunId",
        /// The request, if the agent repeats it.
        optional input: Box<RunAgentInput> = "input",
    }
    /// A run finished.
    RunFinished = "RUN_FINISHED" {
        /// The conversation.
        required thread_id: ThreadId = "threadId",
        /// The run.
        required run_id: RunId = "runId",
        /// The run's result: any JSON.
        json result: Value = "result",
        /// The outcome; absent means success.
        optional outcome: RunOutcome = "outcome",
        /// The token usage, with one entry for each model.
        optional usage: Vec<TokenUsage> = "usage",
    }
    /// A run failed.
    RunError = "RUN_ERROR" {
        /// The error message.
        required message: String = "message",
        /// The agent's error code.
        optional code: String = "code",
        /// The token usage, with one entry for each model.
        optional usage: Vec<TokenUsage> = "usage",
    }
    /// A text message starts, or continues after its end.
    TextMessageStart = "TEXT_MESSAGE_START" {
        /// The message.
        required message_id: MessageId = "messageId",
        /// The role of the speaker; absent means the assistant.
        optional role: TextMessageRole = "role",
        /// The name of the speaker, where there are several.
        optional name: String = "name",
    }
    /// A delta of a text message.
    TextMessageContent = "TEXT_MESSAGE_CONTENT" {
        /// The message.
        required message_id: MessageId = "messageId",
        /// The delta; may be empty.
        required delta: String = "delta",
    }
    /// A text message ends.
    TextMessageEnd = "TEXT_MESSAGE_END" {
        /// The message.
        required message_id: MessageId = "messageId",
    }
    /// A text message in one event: start, delta and end as needed.
    TextMessageChunk = "TEXT_MESSAGE_CHUNK" {
        /// The message. If absent, the chunk continues the previous message.
        optional message_id: MessageId = "messageId",
        /// The role of the speaker.
        optional role: TextMessageRole = "role",
        /// The delta.
        optional delta: String = "delta",
        /// The name of the speaker, where there are several.
        optional name: String = "name",
    }
    /// A tool call starts.
    ToolCallStart = "TOOL_CALL_START" {
        /// The call.
        required tool_call_id: ToolCallId = "toolCallId",
        /// The tool.
        required tool_call_name: String = "toolCallName",
        /// The assistant message that the call belongs to.
        optional parent_message_id: MessageId = "parentMessageId",
    }
    /// A delta of a tool call's arguments.
    ToolCallArgs = "TOOL_CALL_ARGS" {
        /// The call.
        required tool_call_id: ToolCallId = "toolCallId",
        /// A fragment of JSON text.
        required delta: String = "delta",
    }
    /// A tool call's arguments end.
    ToolCallEnd = "TOOL_CALL_END" {
        /// The call.
        required tool_call_id: ToolCallId = "toolCallId",
    }
    /// A tool call in one event: start, delta and end as needed.
    ToolCallChunk = "TOOL_CALL_CHUNK" {
        /// The call. If absent, the chunk continues the previous call.
        optional tool_call_id: ToolCallId = "toolCallId",
        /// The tool.
        optional tool_call_name: String = "toolCallName",
        /// The assistant message that the call belongs to.
        optional parent_message_id: MessageId = "parentMessageId",
        /// A fragment of JSON text.
        optional delta: String = "delta",
    }
    /// A tool call has a result.
    ToolCallResult = "TOOL_CALL_RESULT" {
        /// The tool message with the result.
        required message_id: MessageId = "messageId",
        /// The call.
        required tool_call_id: ToolCallId = "toolCallId",
        /// The result.
        required content: MessageContent = "content",
        /// Always `tool`.
        optional role: ToolRole = "role",
    }
    /// A step of the agent starts.
    StepStarted = "STEP_STARTED" {
        /// The step.
        required step_name: String = "stepName",
    }
    /// A step of the agent finished.
    StepFinished = "STEP_FINISHED" {
        /// The step.
        required step_name: String = "stepName",
    }
    /// The complete shared state.
    StateSnapshot = "STATE_SNAPSHOT" {
        /// The state: any JSON, including null.
        required snapshot: Value = "snapshot",
    }
    /// A change of the shared state.
    StateDelta = "STATE_DELTA" {
        /// The change: operations of JSON Patch (RFC 6902).
        patch delta: Vec<Value> = "delta",
    }
    /// The complete conversation.
    MessagesSnapshot = "MESSAGES_SNAPSHOT" {
        /// The messages.
        required messages: Vec<Message> = "messages",
    }
    /// A complete activity.
    ActivitySnapshot = "ACTIVITY_SNAPSHOT" {
        /// The activity message.
        required message_id: MessageId = "messageId",
        /// The kind of activity.
        required activity_type: String = "activityType",
        /// The content to show.
        required content: Metadata = "content",
        /// Whether an earlier snapshot is replaced; absent means yes.
        optional replace: bool = "replace",
    }
    /// A change of an activity.
    ActivityDelta = "ACTIVITY_DELTA" {
        /// The activity message.
        required message_id: MessageId = "messageId",
        /// The kind of activity.
        required activity_type: String = "activityType",
        /// The change: operations of JSON Patch (RFC 6902).
        patch patch: Vec<Value> = "patch",
    }
    /// A span of reasoning starts.
    ReasoningStart = "REASONING_START" {
        /// The span.
        required message_id: MessageId = "messageId",
    }
    /// A span of reasoning ends.
    ReasoningEnd = "REASONING_END" {
        /// The span.
        required message_id: MessageId = "messageId",
    }
    /// A reasoning message starts, or continues after its end.
    ReasoningMessageStart = "REASONING_MESSAGE_START" {
        /// The message.
        required message_id: MessageId = "messageId",
        /// Always `reasoning`.
        required role: ReasoningRole = "role",
    }
    /// A delta of a reasoning message.
    ReasoningMessageContent = "REASONING_MESSAGE_CONTENT" {
        /// The message.
        required message_id: MessageId = "messageId",
        /// The delta; may be empty.
        required delta: String = "delta",
    }
    /// A reasoning message ends.
    ReasoningMessageEnd = "REASONING_MESSAGE_END" {
        /// The message.
        required message_id: MessageId = "messageId",
    }
    /// A reasoning message in one event: start, delta and end as needed.
    ReasoningMessageChunk = "REASONING_MESSAGE_CHUNK" {
        /// The message. If absent, the chunk continues the previous message.
        optional message_id: MessageId = "messageId",
        /// The delta.
        optional delta: String = "delta",
    }
    /// Data that the provider wants back unchanged with a message or a tool call.
    ReasoningEncryptedValue = "REASONING_ENCRYPTED_VALUE" {
        /// The kind of item that the value belongs to.
        required subtype: EncryptedValueSubtype = "subtype",
        /// The id of the message or tool call.
        required entity_id: String = "entityId",
        /// The value.
        required encrypted_value: String = "encryptedValue",
    }
    /// A subagent starts.
    SubagentStarted = "SUBAGENT_STARTED" {
        /// The subagent's run.
        required subagent_run_id: String = "subagentRunId",
        /// The name.
        required name: String = "name",
        /// The subagent's purpose.
        optional description: String = "description",
        /// The subagent that started this subagent.
        optional parent_subagent_run_id: String = "parentSubagentRunId",
        /// The tool call that started the subagent.
        optional parent_tool_call_id: ToolCallId = "parentToolCallId",
        /// The message that started the subagent.
        optional parent_message_id: MessageId = "parentMessageId",
    }
    /// A subagent finished.
    SubagentFinished = "SUBAGENT_FINISHED" {
        /// The subagent's run.
        required subagent_run_id: String = "subagentRunId",
        /// The subagent's result: any JSON.
        json result: Value = "result",
        /// The outcome; absent means success.
        optional outcome: SubagentOutcome = "outcome",
    }
    /// A subagent failed.
    SubagentError = "SUBAGENT_ERROR" {
        /// The subagent's run.
        required subagent_run_id: String = "subagentRunId",
        /// The error message.
        required message: String = "message",
        /// The agent's error code.
        optional code: String = "code",
    }
    /// A provider's own event, passed through.
    Raw = "RAW" {
        /// The event: any JSON.
        required event: Value = "event",
        /// The source of the event.
        optional source: String = "source",
    }
    /// An event that agent and app agreed on.
    Custom = "CUSTOM" {
        /// The name.
        required name: String = "name",
        /// The value: any JSON, including null.
        required value: Value = "value",
    }
}
