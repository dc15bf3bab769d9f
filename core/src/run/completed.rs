use super::effect::EffectId;
use super::outcome::Outcome;
use super::output::RunEvent;
use super::typed::Run;
use super::typed::sealed::Sealed;
use crate::Timestamp;
use crate::conversation::Conversation;
use serde::{Deserialize, Serialize};

/// The turn is over.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "model-check", derive(Clone))]
pub struct Completed {
    outcome: Outcome,
}

impl Completed {
    pub(super) fn new(outcome: Outcome) -> Self {
        Self { outcome }
    }
}

impl Sealed for Completed {
    fn outcome(&self) -> Option<&Outcome> {
        Some(&self.outcome)
    }
}

impl Run<Completed> {
    /// The host could not store the blocks of that write: it goes out again, as often as the configuration says. In the
    /// end there is a warning, and what was not stored is lost with the run.
    pub fn persist_failed(&mut self, write: EffectId, message: &str, now: Timestamp) {
        let core = &mut self.core;
        core.tick(now);
        if core.pending.stage(write).is_none() {
            return;
        }
        if core.recorder.not_stored() {
            return core.write_again(write);
        }
        core.answered(write);
        if core.recorder.is_last() {
            let message = format!("the end of the turn could not be stored: {message}");
            core.event(RunEvent::Warning { message });
        } else {
            core.recorder.put_back();
        }
    }

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
