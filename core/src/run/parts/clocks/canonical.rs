//! The model checker's view of the clocks.

use super::Clocks;
use crate::Timestamp;
use std::time::Duration;

impl Clocks {
    pub(crate) fn paused_at(&self) -> Option<Timestamp> {
        self.paused_at
    }

    pub(crate) fn turn_left(&self) -> Option<Duration> {
        self.turn_left
    }

    pub(crate) fn running_since(&self) -> Option<Timestamp> {
        self.running_since
    }
}
