use super::content::MessageContent;
use super::field::{Metadata, present};
use crate::{MessageId, ToolCallId};
use serde::{Deserialize, Serialize};

/// One message of a conversation, told apart by its `role`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// The app's own instructions, ranking above the user's.
    Developer(TextualMessage),
    /// The app's own instructions.
    System(TextualMessage),
    /// What the model said and which tools it asked for.
    Assistant(AssistantMessage),
    /// What the user said.
    User(UserMessage),
    /// What a tool gave back.
    Tool(ToolMessage),
    /// What an agent is doing; shown, never sent back.
    Activity(ActivityMessage),
    /// What the model thought.
    Reasoning(ReasoningMessage),
}

macro_rules! message_struct {
    ($(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// Names the message within its thread.
            pub id: MessageId,
            $($fields)*
            /// What a provider wants back unchanged: a signature, or reasoning it encrypted.
            #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
            pub encrypted_value: Option<String>,
            /// What the sender attached.
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
        /// Who of several speaks.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
    }
}

message_struct! {
    /// What the model said in one hop.
    AssistantMessage {
        /// The text; absent where the model only asked for tools.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub content: Option<String>,
        /// The tools it asked for, in its order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub tool_calls: Vec<ToolCall>,
        /// Who of several speaks.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
    }
}

message_struct! {
    /// What the user said.
    UserMessage {
        /// Text, or text and media.
        pub content: MessageContent,
        /// Who of several speaks.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
    }
}

message_struct! {
    /// What a tool gave back.
    ToolMessage {
        /// The call it answers.
        pub tool_call_id: ToolCallId,
        /// The result, as the model is to see it.
        pub content: MessageContent,
        /// Why the tool failed; absent if it did not.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        pub error: Option<String>,
    }
}

message_struct! {
    /// What an agent is doing, for the user to see.
    ActivityMessage {
        /// The kind of activity, as the agent names it.
        pub activity_type: String,
        /// What to show.
        pub content: Metadata,
    }
}

message_struct! {
    /// What the model thought.
    ReasoningMessage {
        /// The thought, or the provider's summary of it.
        pub content: String,
    }
}

impl Default for MessageContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Message {
    /// A user message: of plain text, or of texts and media.
    #[must_use]
    pub fn user(id: impl Into<MessageId>, content: impl Into<MessageContent>) -> Self {
        Self::User(UserMessage {
            id: id.into(),
            content: content.into(),
            ..UserMessage::default()
        })
    }

    /// A system message.
    #[must_use]
    pub fn system(id: impl Into<MessageId>, text: impl Into<String>) -> Self {
        Self::System(TextualMessage {
            id: id.into(),
            content: text.into(),
            ..TextualMessage::default()
        })
    }

    /// The message's id.
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

    /// The message's `role`, as the wire has it.
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

    /// Where a value that the provider wants back is kept; activities have none.
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

    /// The subagent that the message belongs to; `None` for the parent agent.
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

    /// Returns what the sender attached.
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

    /// Returns what the sender attached, to be changed.
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
    /// Names the call.
    pub id: ToolCallId,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: FunctionKind,
    /// What is to be called.
    pub function: FunctionCall,
    /// What a provider wants back unchanged with the call.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub encrypted_value: Option<String>,
    /// What the sender attached.
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
    /// A call without attachments.
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

/// What a tool call calls.
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
