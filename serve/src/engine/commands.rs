//! Commands to a turn under way.

use crate::engine::EngineError;
use crate::turn::agent::TurnAgent;
use crate::turn::brought::Brought;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use stepwell_core::ToolCallId;
use stepwell_core::event::ResumeEntry;
use stepwell_io::AgentBuilder;
use stepwell_io::store::Reply;
use stepwell_io::tool::ToolResult;
use tokio::sync::oneshot;

/// A command to a turn under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Answers questions of the turn.
    Answer(Vec<ResumeEntry>),
    /// Stops one call; the others continue.
    CancelCall(ToolCallId),
    /// Brings the result of a client's tool.
    BringResult(ToolCallId, ToolResult),
    /// Continues the turn in a new run.
    Continue(Box<Continued>),
    /// Replies to what waits under this id, as the conversation of a process that is no host does.
    Reply(String, Reply),
}

/// The run in which a waiting turn continues.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Continued {
    /// What the client brought to the run.
    pub(crate) brought: Brought,
    /// The agent that runs the turn from here on, where it is known here.
    #[serde(skip)]
    pub(crate) agent: Option<Arc<TurnAgent>>,
    /// The agent that the turn's agent is built from.
    #[serde(skip)]
    pub(crate) base: Option<AgentBuilder>,
}

/// Receives the outcome of a command.
pub(crate) type CommandReply = oneshot::Sender<Result<(), EngineError>>;
