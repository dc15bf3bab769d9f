//! What the model checker sees of the clocks.

use super::Deadlines;
use crate::Timestamp;
use crate::run::protocol::TimerKey;

impl Deadlines {
    /// Each of them, and what it is for.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TimerKey, Timestamp)> + '_ {
        self.0.iter().copied()
    }
}
