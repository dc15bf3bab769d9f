use crate::event::{
    ActivityMessage, AssistantMessage, Message, MessageContent, Metadata, ReasoningMessage,
    ToolCall, ToolMessage, UserMessage,
};
use crate::run::{CUT, Outcome, TextOptions, TurnStatus};
use crate::tool::ToolRegistry;
use crate::transcript::ToolCallStatus;
use crate::{MessageId, RunId, Timestamp, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A stored session as the user saw it, message by message: for lists, exports and other programs. A screen that also
/// shows the turn under way has a [`ChatState`](super::ChatState), which is built from the same turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct SessionView {
    /// The beginning of the user's first message, without markup.
    pub title: String,
    /// The start of the first turn.
    pub created_at: Timestamp,
    /// The time of the last stored change.
    pub updated_at: Timestamp,
    /// The turns of the shown path, the oldest first.
    #[serde(default)]
    pub turns: Vec<TurnView>,
    /// The messages, the oldest first.
    #[serde(default)]
    pub messages: Vec<MessageView>,
}

/// A turn as the user sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct TurnView {
    /// The run id of the first hop.
    pub id: RunId,
    /// The turn before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// The status.
    pub status: TurnStatus,
    /// The outcome, after the end of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The start of the turn.
    pub created_at: Timestamp,
    /// The time of the last stored change.
    pub updated_at: Timestamp,
}

/// A message as the user sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct MessageView {
    /// The id of the message, unique in the thread.
    pub id: MessageId,
    /// The turn of the message; absent for messages without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<RunId>,
    /// The speaker.
    pub role: Role,
    /// The content.
    pub content: MessageContent,
    /// The agent's view of its work; only for an activity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivityView>,
    /// The tool calls of the message, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_executions: Vec<ToolExecution>,
    /// Whether the answer was [cut](crate::run::CUT) because its host died, and asked for again. The text may stop anywhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The start of the turn.
    pub timestamp: Timestamp,
}

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The model, in its reasoning.
    Reasoning,
    /// An agent, about its work.
    Activity,
}

/// An agent's view of its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ActivityView {
    /// The kind of activity, as the agent names it.
    pub activity_type: String,
    /// The content of the activity.
    pub content: Metadata,
}

/// A tool call as the user sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ToolExecution {
    /// The provider's id for the call.
    pub tool_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
    /// The label of the call: the tool's label for these arguments, or the tool's name.
    pub label: String,
    /// The status.
    pub status: ToolCallStatus,
    /// The time of the last stored change; until then, of the last change.
    pub timestamp: Timestamp,
    /// The arguments as the model wrote them: JSON, or a string with their text if it is not JSON or not complete yet.
    pub args: Value,
    /// The result, once the call is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<MessageContent>,
}

/// The options of a session view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewOptions {
    /// The tools, for their labels. A call of another tool has its stored label, or the name of the tool.
    pub tools: ToolRegistry,
    /// The options for the text of the model, as in the configuration of the runs.
    pub text: TextOptions,
}

impl SessionView {
    /// Converts the view to messages. They lack what the view does not show: instructions, and data that a provider wants
    /// back unchanged. For the next request of stored turns use [`MessageBuilder`](super::MessageBuilder) instead.
    #[must_use]
    pub fn to_messages(&self) -> Vec<Message> {
        let mut messages = Vec::with_capacity(self.messages.len());
        for message in &self.messages {
            let results = message.tool_executions.iter();
            let results = results.filter_map(ToolExecution::to_message);
            messages.push(message.to_message());
            messages.extend(results);
        }
        messages
    }
}

impl MessageView {
    fn to_message(&self) -> Message {
        let id = self.id.clone();
        let mark = || Metadata::from_iter([(CUT.to_owned(), Value::Bool(true))]);
        let metadata = self.cut.then(mark);
        match (self.role, &self.activity) {
            (Role::User, _) => Message::User(UserMessage {
                id,
                content: self.content.clone(),
                ..UserMessage::default()
            }),
            (Role::Reasoning, _) => Message::Reasoning(ReasoningMessage {
                id,
                content: self.content.to_text(),
                metadata,
                ..ReasoningMessage::default()
            }),
            (Role::Activity, Some(activity)) => Message::Activity(ActivityMessage {
                id,
                activity_type: activity.activity_type.clone(),
                content: activity.content.clone(),
                ..ActivityMessage::default()
            }),
            (Role::Assistant | Role::Activity, _) => {
                let text = self.content.to_text();
                let calls = self.tool_executions.iter();
                let calls = calls.map(|call| {
                    let arguments = match &call.args {
                        Value::String(raw) => raw.clone(),
                        arguments => arguments.to_string(),
                    };
                    ToolCall::new(call.tool_id.clone(), call.tool_name.clone(), arguments)
                });
                Message::Assistant(AssistantMessage {
                    id,
                    content: (!text.is_empty()).then_some(text),
                    tool_calls: calls.collect(),
                    metadata,
                    ..AssistantMessage::default()
                })
            }
        }
    }
}

impl ToolExecution {
    /// Returns the message with the result, if there is one.
    fn to_message(&self) -> Option<Message> {
        let content = self.result.clone()?;
        let error = (self.status != ToolCallStatus::Completed).then(|| content.to_text());
        Some(Message::Tool(ToolMessage {
            id: format!("{}-result", self.tool_id).into(),
            tool_call_id: self.tool_id.clone(),
            content,
            error,
            ..ToolMessage::default()
        }))
    }
}
