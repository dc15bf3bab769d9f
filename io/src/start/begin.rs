use crate::app::setup::Setup;
use crate::app::tools::handler::Handlers;
use crate::durable::{BeginFrom, StoredTurn};
use crate::store::Lease;
use crate::turn::journaled::JournaledRun;
use std::sync::Arc;
use stepwell_core::event::Message;
use stepwell_core::run::Start;
use stepwell_core::transcript::Transcript;

/// The start of a turn.
pub(crate) enum Begin {
    /// A new turn, with the code of the turn's own tools.
    Start(Box<Start>, BeginFrom, Handlers),
    /// Continues from a snapshot that the app has kept.
    Revived {
        snapshot: String,
        run: Box<JournaledRun>,
        setup: Arc<Setup>,
    },
    /// Continues from the checkpoint in the store.
    Claimed {
        turn: StoredTurn,
        lease: Option<Arc<Lease>>,
        run: Box<JournaledRun>,
        setup: Arc<Setup>,
        /// The messages of the turn that the user was shown.
        shown: Vec<Message>,
    },
    /// Starts again a turn of which the store has only the message.
    Restarted {
        turn: StoredTurn,
        lease: Option<Arc<Lease>>,
        start: Box<Start>,
        history: Box<Transcript>,
        setup: Arc<Setup>,
    },
}

impl Begin {
    /// Returns the message that a new turn begins with.
    pub(crate) fn message(&self) -> Option<&Message> {
        match self {
            Self::Start(start, ..) => start.message.as_ref(),
            _ => None,
        }
    }

    /// Returns the run id of the turn's first hop, or of the hop at which the turn continues.
    pub(crate) fn run_id(&self) -> String {
        match self {
            Self::Start(start, ..) | Self::Restarted { start, .. } => start.run_id.to_string(),
            Self::Revived { run, .. } | Self::Claimed { run, .. } => {
                let run_id = run.machine.run_id();
                run_id.map(ToString::to_string).unwrap_or_default()
            }
        }
    }
}
