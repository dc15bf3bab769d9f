use super::RunMachine;
use crate::run::protocol::{Authorization, RunConfig};
use std::fmt;
use std::sync::Arc;

/// The complete state that decides a run's future: machines with equal forms give the same outputs to the same inputs
/// from here on. The form includes the configuration, pending effects, deadlines, the messages that the user typed and
/// the device's state.
///
/// Take it when no outputs wait: the form ignores how waiting deltas will be joined. Machines with equal forms have the
/// same [`snapshot`](RunMachine::snapshot). Do not store the form itself.
#[derive(Clone, PartialEq)]
pub struct CanonicalForm {
    config: Option<Arc<RunConfig>>,
    snapshot: String,
    /// The key, which no snapshot holds.
    given: Option<Authorization>,
    /// The key that is kept for an answer in the background, and the number of its model.
    kept: Option<(u32, Authorization)>,
    /// The state that matters only right after a revival.
    follows_cut: bool,
    is_disposed: bool,
}

impl CanonicalForm {
    /// The run's [`snapshot`](RunMachine::snapshot), which is all of the form but the key that the host gave.
    #[must_use]
    pub fn snapshot(&self) -> &str {
        &self.snapshot
    }
}

impl fmt::Debug for CanonicalForm {
    /// The part of it that is text, for the message of a test that fails.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CanonicalForm")
            .field(&self.snapshot)
            .finish()
    }
}

impl RunMachine {
    /// Returns the state that decides the run's future, for tests that compare two ways to one point.
    #[must_use]
    pub fn canonical(&self) -> CanonicalForm {
        let turn = self.read_turn();
        CanonicalForm {
            config: self.config().cloned(),
            snapshot: self.snapshot(),
            given: turn.and_then(|turn| turn.given_access().cloned()),
            kept: turn.and_then(|turn| turn.kept_access().cloned()),
            follows_cut: turn.is_some_and(|turn| turn.follows_cut()),
            is_disposed: self.is_disposed(),
        }
    }
}
