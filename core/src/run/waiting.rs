use super::active::Active;
use super::edges::on;
use super::effect::EffectId;
use super::opening::Opening;
use super::timer::TimerKey;
use super::typed::Run;
use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// A request failed and is tried again: soon, or when there is a network.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "model-check", derive(Clone))]
pub struct Waiting {
    /// The try that is to come.
    attempt: u32,
    /// The provider has said that it may not come earlier.
    #[serde(default)]
    not_before: Option<Timestamp>,
}

impl Waiting {
    pub(super) fn new(attempt: u32, not_before: Option<Timestamp>) -> Self {
        Self {
            attempt,
            not_before,
        }
    }

    pub(super) fn not_before(&self) -> Option<Timestamp> {
        self.not_before
    }
}

impl Active for Waiting {}

impl Run<Waiting> {
    /// Tries again now, whatever is left of the pause: when the network comes back, say.
    pub fn wake(mut self, now: Timestamp) -> Run<Opening> {
        self.core.tick(now);
        self.core.timers.stop(TimerKey::Retry);
        let attempt = self.state.attempt;
        let hop = self.core.hop;
        self.core.emit(EffectId::Open { hop, attempt });
        self.goto(on::Wake, Opening::new(attempt))
    }
}
