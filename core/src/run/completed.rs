use super::outcome::Outcome;
use super::typed::Run;
use crate::conversation::Conversation;
use serde::{Deserialize, Serialize};

/// The turn is over.
#[derive(Debug, Serialize, Deserialize)]
pub struct Completed {
    outcome: Outcome,
}

impl Completed {
    pub(super) fn new(outcome: Outcome) -> Self {
        Self { outcome }
    }
}

impl Run<Completed> {
    /// How the turn ended.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.state.outcome
    }

    /// The conversation, for the next turn.
    #[must_use]
    pub fn into_conversation(self) -> Conversation {
        self.core.conversation
    }
}
