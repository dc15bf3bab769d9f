//! What a turn under way is told.

use crate::engine::EngineError;
use crate::turn::agent::TurnAgent;
use crate::turn::brought::Brought;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use stepwell_core::ToolCallId;
use stepwell_core::event::ResumeEntry;
use stepwell_io::{AgentBuilder, ToolResult};
use tokio::sync::oneshot;

/// What a turn under way is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Answers what it asks the user.
    Answer(Vec<ResumeEntry>),
    /// Stops one call; the others go on.
    CancelCall(ToolCallId),
    /// What a client's tool gave.
    BringResult(ToolCallId, ToolResult),
    /// Goes on in a new run.
    Continue(Box<Continued>),
}

/// The run in which a turn goes on that waited for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Continued {
    /// What the client brought to the run.
    pub(crate) brought: Brought,
    /// What runs the turn from here on, where that is known here.
    #[serde(skip)]
    pub(crate) agent: Option<Arc<TurnAgent>>,
    /// What its agent begins with.
    #[serde(skip)]
    pub(crate) base: Option<AgentBuilder>,
}

/// Hears what became of a command.
pub(crate) type CommandReply = oneshot::Sender<Result<(), EngineError>>;
