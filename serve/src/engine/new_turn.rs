//! A turn to begin.

use crate::turn::agent::TurnAgent;
use crate::turn::brought::Brought;
use std::sync::Arc;
use stepwell_core::event::Message;
use stepwell_core::registry::ThreadKey;
use stepwell_core::transcript::Transcript;
use stepwell_io::{AgentBuilder, RunId};

/// A turn to begin.
#[derive(Clone, Debug)]
pub struct NewTurn {
    /// Its thread.
    pub thread: ThreadKey,
    /// Its id, unique in the thread.
    pub turn: RunId,
    /// What the turn continues from.
    pub origin: Origin,
    /// The agent that runs the turn, if not the server's own.
    pub agent: Option<Arc<TurnAgent>>,
    /// The agent that the turn's agent is built from, if it has the client's tools.
    pub base: Option<AgentBuilder>,
    /// What its client brought.
    pub brought: Brought,
    /// Whether requests carry the complete conversation again: a compaction by an earlier turn is undone.
    pub whole_history: bool,
}

/// What a turn continues from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The thread as it is stored, and the user's message; without one the turn continues the path alone.
    Stored(Parent, Option<Box<Message>>),
    /// What the client has of the conversation, compacted as earlier turns of the thread left it.
    History(Box<Transcript>),
}

/// The parent of a turn in its thread's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parent {
    /// At the turn that began last.
    Latest,
    /// At none: the turn begins the thread, or begins it again.
    Root,
    /// At this one. A second turn of one parent is a branch.
    Turn(RunId),
}
