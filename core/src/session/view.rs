use super::view_state::ViewState;
use crate::conversation::{Conversation, ToolCallStatus};
use crate::event::{
    ActivityMessage, AssistantMessage, Message, MessageContent, Metadata, ReasoningMessage,
    ToolCall, ToolMessage, UserMessage,
};
use crate::run::{CUT, Outcome, TextOptions, TurnStatus};
use crate::tool::ToolRegistry;
use crate::{MessageId, RunId, Timestamp, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A session as the user is shown it. It is made of stored turns ([`SessionView::of`]) or of a run's events
/// ([`LiveSession`](super::LiveSession)), and is the same either way: what was seen live is there again after a reload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct SessionView {
    /// The beginning of the user's first words, without markup.
    pub title: String,
    /// When its first turn began.
    pub created_at: Timestamp,
    /// When something of it was last stored.
    pub updated_at: Timestamp,
    /// The turns of the path that is shown, the oldest first.
    #[serde(default)]
    pub turns: Vec<TurnView>,
    /// The messages, the oldest first.
    #[serde(default)]
    pub messages: Vec<MessageView>,
}

/// A turn as the user is shown it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct TurnView {
    /// The run id of its first hop.
    pub id: RunId,
    /// The turn before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// Where it stands.
    pub status: TurnStatus,
    /// How it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something of it was last stored.
    pub updated_at: Timestamp,
}

/// A message as the user is shown it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct MessageView {
    /// Names the message within its thread.
    pub id: MessageId,
    /// The turn that brought it; absent for messages without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<RunId>,
    /// Who speaks.
    pub role: Role,
    /// What they say.
    pub content: MessageContent,
    /// What an agent shows of its work; of an activity alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivityView>,
    /// The calls that the message asks for, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_executions: Vec<ToolExecution>,
    /// Whether its answer was [cut](crate::run::CUT) by the end of its host, and asked for anew. It may stop anywhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// When its turn began.
    pub timestamp: Timestamp,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The model, to itself.
    Reasoning,
    /// An agent, of its work.
    Activity,
}

/// What an agent shows of its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ActivityView {
    /// The kind of activity, as the agent names it.
    pub activity_type: String,
    /// What to show.
    pub content: Metadata,
}

/// A tool call as the user is shown it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ToolExecution {
    /// The provider's id for the call.
    pub tool_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
    /// What the call is called: the tool's label for its arguments, or the tool's name.
    pub label: String,
    /// Where it stands.
    pub status: ToolCallStatus,
    /// When something of it was last stored; until then when it last moved on.
    pub timestamp: Timestamp,
    /// The arguments as the model wrote them: JSON, or the text of them where that is none, or not whole yet.
    pub args: Value,
    /// What came of it, once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<MessageContent>,
}

/// How a session is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewOptions {
    /// The tools, for their labels; of those that are not among them the name is shown, or the label that is stored.
    pub tools: ToolRegistry,
    /// How the model's text is shown: as in the runs' configuration.
    pub text: TextOptions,
}

impl SessionView {
    /// The messages that the view shows. What it does not show is not in them: instructions, and what a provider wants
    /// back unchanged. So take [`MessageBuilder`](super::MessageBuilder) for the next request where there are turns.
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

    /// A view of messages without turns, all of it from one time: of an app whose agent has no store, or of a history
    /// from elsewhere.
    ///
    /// ```
    /// use stepwell_core::Timestamp;
    /// use stepwell_core::event::Message;
    /// use stepwell_core::session::{SessionView, ViewOptions};
    ///
    /// let history = [Message::user("1", "What is a stepwell?")];
    /// let view = SessionView::of_messages(&history, Timestamp(0), &ViewOptions::default());
    /// assert_eq!(view.messages[0].content.to_text(), "What is a stepwell?");
    /// ```
    #[must_use]
    pub fn of_messages(messages: &[Message], at: Timestamp, options: &ViewOptions) -> Self {
        let mut view = ViewState::of(Conversation::new(messages.to_vec())).view(options);
        view.created_at = at;
        view.updated_at = at;
        for message in &mut view.messages {
            message.timestamp = at;
            for execution in &mut message.tool_executions {
                execution.timestamp = at;
            }
        }
        view
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
    /// The message that holds the result, if there is one.
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
