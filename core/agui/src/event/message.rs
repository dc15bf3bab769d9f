use super::content::MessageContent;
use super::field::{Metadata, present};
use crate::{MessageId, ToolCallId};
use serde::{Deserialize, Serialize};

/// A message of a conversation, tagged by its `role`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// The app's own instructions, ranking above the user's.
    Developer(TextualMessage),
    /// The app's own instructions.
    System(TextualMessage),
    /// The model's text and tool calls.
    Assistant(AssistantMessage),
    /// The user's message.
    User(UserMessage),
    /// The result of a tool.
    Tool(ToolMessage),
    /// An activity of an agent, which is shown and never sent back.
    Activity(ActivityMessage),
    /// The model's reasoning.
    Reasoning(ReasoningMessage),
}

macro_rules! message_struct {
    ($(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// The id of the message, unique within its thread.
            pub id: MessageId,
            $($fields)*
            /// Data that the provider wants back unchanged: a signature, or encrypted reasoning.
            #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
            pub encrypted_value: Option<String>,
            /// Metadata from the sender.
            #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
            pub metadata: Option<Metadata>,
            /// The subagent that the message belongs to; absent for the parent agent.
            #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
            pub subagent_run_id: Option<String>,
            /// Fields that this version does not know.
            #[serde(flatten)]
            pub extra: Metadata,
        }
    };
}

message_struct! {
    /// A developer's or system's message.
    TextualMessage {
        /// The text.
        pub content: String,
        /// The name of the speaker, where there are several.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
    }
}

message_struct! {
    /// The model's message in one hop.
    AssistantMessage {
        /// The text; absent where the model only called tools.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub content: Option<String>,
        /// The tool calls, in the model's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub tool_calls: Vec<ToolCall>,
        /// The name of the speaker, where there are several.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
    }
}

message_struct! {
    /// The user's message.
    UserMessage {
        /// Text, or text and media.
        pub content: MessageContent,
        /// The name of the speaker, where there are several.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
    }
}

message_struct! {
    /// The result of a tool.
    ToolMessage {
        /// The call that the result answers.
        pub tool_call_id: ToolCallId,
        /// The result for the model.
        pub content: MessageContent,
        /// The reason why the tool failed; absent if it succeeded.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub error: Option<String>,
    }
}

message_struct! {
    /// An activity of an agent, for the user to see.
    ActivityMessage {
        /// The kind of activity, as the agent names it.
        pub activity_type: String,
        /// The content to show.
        pub content: Metadata,
    }
}

message_struct! {
    /// The model's reasoning.
    ReasoningMessage {
        /// The reasoning, or the provider's summary of it.
        pub content: String,
    }
}

impl Default for MessageContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Message {
    /// Creates a user message from plain text, or from texts and media.
    #[must_use]
    pub fn user(id: impl Into<MessageId>, content: impl Into<MessageContent>) -> Self {
        Self::User(UserMessage {
            id: id.into(),
            content: content.into(),
            ..UserMessage::default()
        })
    }

    /// Creates a system message.
    #[must_use]
    pub fn system(id: impl Into<MessageId>, text: impl Into<String>) -> Self {
        Self::System(TextualMessage {
            id: id.into(),
            content: text.into(),
            ..TextualMessage::default()
        })
    }

    /// Returns the message's id.
    #[must_use]
    pub fn id(&self) -> &MessageId {
        match self {
            Self::Developer(message) | Self::System(message) => &message.id,
            Self::Assistant(message) => &message.id,
            Self::User(message) => &message.id,
            Self::Tool(message) => &message.id,
            Self::Activity(message) => &message.id,
            Self::Reasoning(message) => &message.id,
        }
    }

    /// Returns the message's `role`.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            Self::Developer(_) => "developer",
            Self::System(_) => "system",
            Self::Assistant(_) => "assistant",
            Self::User(_) => "user",
            Self::Tool(_) => "tool",
            Self::Activity(_) => "activity",
            Self::Reasoning(_) => "reasoning",
        }
    }

    /// Returns a mutable reference to the value that the provider wants back; `None` for activities, which have no such
    /// value.
    pub fn encrypted_value_mut(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::Developer(message) | Self::System(message) => Some(&mut message.encrypted_value),
            Self::Assistant(message) => Some(&mut message.encrypted_value),
            Self::User(message) => Some(&mut message.encrypted_value),
            Self::Tool(message) => Some(&mut message.encrypted_value),
            Self::Activity(_) => None,
            Self::Reasoning(message) => Some(&mut message.encrypted_value),
        }
    }

    /// Returns the subagent that the message belongs to, or `None` for the parent agent.
    #[must_use]
    pub fn subagent_run_id(&self) -> Option<&str> {
        match self {
            Self::Developer(message) | Self::System(message) => &message.subagent_run_id,
            Self::Assistant(message) => &message.subagent_run_id,
            Self::User(message) => &message.subagent_run_id,
            Self::Tool(message) => &message.subagent_run_id,
            Self::Activity(message) => &message.subagent_run_id,
            Self::Reasoning(message) => &message.subagent_run_id,
        }
        .as_deref()
    }

    /// Returns the sender's metadata.
    pub fn metadata(&self) -> Option<&Metadata> {
        match self {
            Self::Developer(message) | Self::System(message) => &message.metadata,
            Self::Assistant(message) => &message.metadata,
            Self::User(message) => &message.metadata,
            Self::Tool(message) => &message.metadata,
            Self::Activity(message) => &message.metadata,
            Self::Reasoning(message) => &message.metadata,
        }
        .as_ref()
    }

    /// Returns a mutable reference to the sender's metadata.
    pub fn metadata_mut(&mut self) -> &mut Option<Metadata> {
        match self {
            Self::Developer(message) | Self::System(message) => &mut message.metadata,
            Self::Assistant(message) => &mut message.metadata,
            Self::User(message) => &mut message.metadata,
            Self::Tool(message) => &mut message.metadata,
            Self::Activity(message) => &mut message.metadata,
            Self::Reasoning(message) => &mut message.metadata,
        }
    }
}

/// A tool call inside an assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call.
    pub id: ToolCallId,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: FunctionKind,
    /// The function to call, with its arguments.
    pub function: FunctionCall,
    /// Data that a provider wants back unchanged with the call.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub encrypted_value: Option<String>,
    /// Metadata from the sender.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<Metadata>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}

impl ToolCall {
    /// Creates a call without metadata.
    #[must_use]
    pub fn new(
        id: impl Into<ToolCallId>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            kind: FunctionKind::Function,
            function: FunctionCall {
                name: name.into(),
                arguments: arguments.into(),
                extra: Metadata::new(),
            },
            encrypted_value: None,
            metadata: None,
            extra: Metadata::new(),
        }
    }
}

/// The one kind of tool call that the protocol knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FunctionKind {
    /// A call of a function.
    #[serde(rename = "function")]
    Function,
}

/// The function of a tool call, with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them: JSON text if it wrote well, and kept as it is if not.
    pub arguments: String,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}
