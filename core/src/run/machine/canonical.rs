use super::RunMachine;
use crate::run::protocol::{Authorization, RunConfig};
use std::fmt;
use std::sync::Arc;

/// All that decides a run's future: machines of one form give the same outputs to the same inputs from here on. The
/// configuration is part of it, and so are pending effects, deadlines, what the user typed and the device's state.
///
/// Take it when no outputs wait: how waiting deltas will be joined is no part of it. Machines of one form have the same
/// [`snapshot`](RunMachine::snapshot). The form itself is not to be stored.
#[derive(Clone, PartialEq)]
pub struct CanonicalForm {
    config: Option<Arc<RunConfig>>,
    snapshot: String,
    /// What no snapshot holds: a key.
    given: Option<Authorization>,
    /// What counts right after a revival only.
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
    /// What decides the run's future, to be compared: for tests of two ways to one point.
    #[must_use]
    pub fn canonical(&self) -> CanonicalForm {
        let turn = self.read_turn();
        CanonicalForm {
            config: self.config().cloned(),
            snapshot: self.snapshot(),
            given: turn.and_then(|turn| turn.given_access().cloned()),
            follows_cut: turn.is_some_and(|turn| turn.follows_cut()),
            is_disposed: self.is_disposed(),
        }
    }
}
