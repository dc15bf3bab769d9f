//! A session as the user is shown it.

use super::TurnRecord;
use crate::effect::TurnStatus;
use crate::error::StepwellError;
use crate::event::ToolCallStatus;
use crate::json_value::JsonValue;
use crate::outcome::Outcome;
use crate::time::Timestamp;
use stepwell_core::conversation::Conversation;
use stepwell_core::session::{self, MessageBuilder, SessionError, TurnTree, ViewOptions};

/// A session as the user is shown it: the same after a reload as it was live.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct SessionView {
    /// The beginning of the user's first words, without markup.
    pub title: String,
    /// When its first turn began.
    pub created_at: Timestamp,
    /// When something of it was last stored.
    pub updated_at: Timestamp,
    /// The turns of the path that is shown, oldest first.
    pub turns: Vec<TurnView>,
    /// The messages, oldest first.
    pub messages: Vec<MessageView>,
}

/// A turn as the user is shown it.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct TurnView {
    /// The run id of its first hop.
    pub id: String,
    /// The turn before it. Turns with the same parent are branches.
    pub parent: Option<String>,
    /// Where it stands.
    pub status: TurnStatus,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something of it was last stored.
    pub updated_at: Timestamp,
}

/// A message as the user is shown it.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct MessageView {
    /// Names the message within its thread.
    pub id: String,
    /// The turn that brought it; absent for messages without one.
    pub turn: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The text of what they say.
    pub text: String,
    /// All of what they say: a JSON string, or a JSON array of AG-UI content parts where it is more than text.
    pub content: JsonValue,
    /// What an agent shows of its work; of an activity alone.
    pub activity: Option<ActivityView>,
    /// The calls that the message asks for, in its order.
    pub tool_executions: Vec<ToolExecution>,
    /// Whether its answer was cut by the end of its host, and asked for anew. It may stop anywhere.
    pub cut: bool,
    /// When its turn began.
    pub timestamp: Timestamp,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
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
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct ActivityView {
    /// The kind of activity, as the agent names it.
    pub activity_type: String,
    /// What to show: a JSON object.
    pub content: JsonValue,
}

/// A tool call as the user is shown it.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct ToolExecution {
    /// The provider's id for the call.
    pub tool_id: String,
    /// The tool.
    pub tool_name: String,
    /// What the call is called.
    pub label: String,
    /// Where it stands.
    pub status: ToolCallStatus,
    /// When something of it was last stored.
    pub timestamp: Timestamp,
    /// The arguments as the model wrote them: any JSON; a JSON string where they are none, or not whole yet.
    pub args: JsonValue,
    /// What came of it, once it is done: a JSON string, or a JSON array of AG-UI content parts.
    pub result: Option<JsonValue>,
}

/// A session of stored turns, all of a thread or a path of it: the path to `turn`, or without one the path that ends
/// last. For apps that store what a `RunMachine` gives them by themselves; a `SessionStore` has `view`.
#[uniffi::export(default(turn = None))]
pub fn session_view(
    turns: Vec<TurnRecord>,
    turn: Option<String>,
) -> Result<SessionView, StepwellError> {
    let turns = of_records(turns)?;
    Ok(view(turns, turn)?)
}

/// The conversation of stored turns, for the next run to begin with: a JSON array of AG-UI messages. Takes the turns as
/// `session_view` does.
#[uniffi::export(default(turn = None))]
pub fn conversation_of(
    turns: Vec<TurnRecord>,
    turn: Option<String>,
) -> Result<JsonValue, StepwellError> {
    let turns = of_records(turns)?;
    Ok(JsonValue::of(&conversation(turns, turn)?.messages()))
}

fn of_records(turns: Vec<TurnRecord>) -> Result<Vec<session::Turn>, StepwellError> {
    let turn = |record: TurnRecord| {
        session::Turn::try_from(record).map_err(|error| {
            StepwellError::invalid(&error, "give the turns just as they were stored")
        })
    };
    turns.into_iter().map(turn).collect()
}

/// The view of the path to a turn, or of the one that ends last.
pub(crate) fn view(
    turns: Vec<session::Turn>,
    turn: Option<String>,
) -> Result<SessionView, SessionError> {
    let tree = TurnTree::new(turns)?;
    let path = path(&tree, turn)?;
    Ok(session::SessionView::of(path, &ViewOptions::default())?.into())
}

/// The conversation of the same path.
pub(crate) fn conversation(
    turns: Vec<session::Turn>,
    turn: Option<String>,
) -> Result<Conversation, SessionError> {
    let tree = TurnTree::new(turns)?;
    MessageBuilder::new().conversation(path(&tree, turn)?)
}

fn path(tree: &TurnTree, turn: Option<String>) -> Result<Vec<&session::Turn>, SessionError> {
    turn.map_or_else(|| Ok(tree.shown()), |turn| tree.path_to(&turn))
}

impl From<SessionError> for StepwellError {
    fn from(error: SessionError) -> Self {
        let advice = match &error {
            SessionError::UnknownTurn { .. } => "take the id of a turn that the thread's list has",
            _ => "give all turns of one thread, each just as it was stored",
        };
        Self::invalid(&error, advice)
    }
}

impl From<session::SessionView> for SessionView {
    fn from(view: session::SessionView) -> Self {
        Self {
            title: view.title,
            created_at: view.created_at.into(),
            updated_at: view.updated_at.into(),
            turns: view.turns.into_iter().map(Into::into).collect(),
            messages: view.messages.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<session::TurnView> for TurnView {
    fn from(turn: session::TurnView) -> Self {
        Self {
            id: turn.id.into_string(),
            parent: turn.parent.map(stepwell_core::RunId::into_string),
            status: turn.status.into(),
            outcome: turn.outcome.map(Into::into),
            created_at: turn.created_at.into(),
            updated_at: turn.updated_at.into(),
        }
    }
}

/// A stored turn without its blocks.
impl From<session::Turn> for TurnView {
    fn from(turn: session::Turn) -> Self {
        Self {
            id: turn.id.into_string(),
            parent: turn.parent.map(stepwell_core::RunId::into_string),
            status: turn.status.into(),
            outcome: turn.outcome.map(Into::into),
            created_at: turn.created_at.into(),
            updated_at: turn.updated_at.into(),
        }
    }
}

impl From<session::MessageView> for MessageView {
    fn from(message: session::MessageView) -> Self {
        Self {
            id: message.id.into_string(),
            turn: message.turn.map(stepwell_core::RunId::into_string),
            role: match message.role {
                session::Role::User => Role::User,
                session::Role::Assistant => Role::Assistant,
                session::Role::Reasoning => Role::Reasoning,
                session::Role::Activity => Role::Activity,
            },
            text: message.content.to_text(),
            content: JsonValue::of(&message.content),
            activity: message.activity.map(|activity| ActivityView {
                activity_type: activity.activity_type,
                content: JsonValue::of(&activity.content),
            }),
            tool_executions: message
                .tool_executions
                .into_iter()
                .map(Into::into)
                .collect(),
            cut: message.cut,
            timestamp: message.timestamp.into(),
        }
    }
}

impl From<session::ToolExecution> for ToolExecution {
    fn from(execution: session::ToolExecution) -> Self {
        Self {
            tool_id: execution.tool_id.into_string(),
            tool_name: execution.tool_name,
            label: execution.label,
            status: execution.status.into(),
            timestamp: execution.timestamp.into(),
            args: JsonValue::of(&execution.args),
            result: execution.result.as_ref().map(JsonValue::of),
        }
    }
}
