//! A session as the user sees it.

use super::TurnRecord;
use crate::effect::TurnStatus;
use crate::error::StepwellError;
use crate::event::ToolCallStatus;
use crate::json_value::JsonValue;
use crate::outcome::Outcome;
use crate::time::Timestamp;
use stepwell_core::session::{self, MessageBuilder, SessionError, TurnTree, ViewOptions};
use stepwell_core::transcript::Transcript;
use stepwell_mirror::mirror;

mirror! {
    /// A session as the user sees it: the same after a reload as live.
    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::SessionView)]
    pub struct SessionView;

    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::TurnView)]
    pub struct TurnView {
        /// The turn before it. Turns with the same parent are branches.
        parent,
    }

    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::MessageView)]
    pub struct MessageView {
        role,
        /// The text of the user's message.
        text: String = content.to_text(),
        /// The complete content of the user's message: a JSON string, or a JSON array of AG-UI content parts where it
        /// is more than text.
        content,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
    #[mirror(stepwell_core::session::Role)]
    pub enum Role;

    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::ActivityView)]
    pub struct ActivityView;

    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::ToolExecution)]
    pub struct ToolExecution {
        /// The arguments as the model wrote them: any JSON; a JSON string where they are not JSON, or incomplete.
        args,
        /// The result of the call, once it is done: a JSON string, or a JSON array of AG-UI content parts.
        result,
    }
}

/// Returns a session from stored turns, all of a thread or of one path: the path to `turn`, or without one the path
/// that ends last. For apps that themselves store what a `RunMachine` emits; a `SessionStore` has `view`.
#[uniffi::export(default(turn = None))]
pub fn session_view(
    turns: Vec<TurnRecord>,
    turn: Option<String>,
) -> Result<SessionView, StepwellError> {
    let turns = of_records(turns)?;
    Ok(view(turns, turn)?)
}

/// Returns the conversation of stored turns, for the next run to begin with: a JSON array of AG-UI messages. Takes the
/// turns as `session_view` does.
#[uniffi::export(default(turn = None))]
pub fn conversation_of(
    turns: Vec<TurnRecord>,
    turn: Option<String>,
) -> Result<JsonValue, StepwellError> {
    let turns = of_records(turns)?;
    Ok(JsonValue::of(&transcript(turns, turn)?.messages()))
}

pub(super) fn of_records(turns: Vec<TurnRecord>) -> Result<Vec<session::Turn>, StepwellError> {
    let turn = |record: TurnRecord| {
        session::Turn::try_from(record).map_err(|error| {
            StepwellError::invalid(&error, "give the turns just as they were stored")
        })
    };
    turns.into_iter().map(turn).collect()
}

/// Returns the view of the path to a turn, or of the path that ends last.
pub(crate) fn view(
    turns: Vec<session::Turn>,
    turn: Option<String>,
) -> Result<SessionView, SessionError> {
    let tree = TurnTree::new(turns)?;
    let path = path_of(&tree, turn)?;
    Ok(session::SessionView::of(path, &ViewOptions::default())?.into())
}

/// Returns the conversation of the same path.
pub(crate) fn transcript(
    turns: Vec<session::Turn>,
    turn: Option<String>,
) -> Result<Transcript, SessionError> {
    let tree = TurnTree::new(turns)?;
    MessageBuilder::new().transcript(path_of(&tree, turn)?)
}

pub(super) fn path_of(
    tree: &TurnTree,
    turn: Option<String>,
) -> Result<Vec<&session::Turn>, SessionError> {
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

/// Converts a stored turn without its blocks.
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
