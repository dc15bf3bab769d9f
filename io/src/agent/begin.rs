use crate::app::setup::Setup;
use crate::app::tools::handler::Handlers;
use crate::durable::{BeginFrom, StoredTurn};
use crate::store::Lease;
use crate::turn::journaled::Journaled;
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::Message;
use stepwell_core::run::Start;

/// How a turn begins.
pub(crate) enum Begin {
    /// As a new one, with the code of the tools that are its own.
    Start(Box<Start>, BeginFrom, Handlers),
    /// From a snapshot that the app has kept.
    Revived {
        snapshot: String,
        run: Box<Journaled>,
        setup: Arc<Setup>,
    },
    /// From what the store has kept.
    Claimed {
        turn: StoredTurn,
        lease: Option<Arc<Lease>>,
        run: Box<Journaled>,
        setup: Arc<Setup>,
        /// What the user was shown of the turn.
        shown: Vec<Message>,
    },
    /// Anew: the store has its message alone.
    Anew {
        turn: StoredTurn,
        lease: Option<Arc<Lease>>,
        start: Box<Start>,
        history: Box<Conversation>,
        setup: Arc<Setup>,
    },
}
