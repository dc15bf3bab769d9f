//! The ownership of a thread.

use std::sync::Arc;
use stepwell_core::registry::{RunHandle, SharedRegistry};
use stepwell_core::run::Outcome;
use tokio::sync::Notify;

/// A turn's ownership of its thread. Another turn may take the thread over at any time; after that nothing that this
/// turn does counts.
#[derive(Debug)]
pub(crate) struct Owner {
    registry: SharedRegistry,
    handle: RunHandle,
    changed: Arc<Notify>,
    is_over: bool,
}

impl Owner {
    pub(crate) fn new(registry: SharedRegistry, handle: RunHandle, changed: Arc<Notify>) -> Self {
        changed.notify_one();
        Self {
            registry,
            handle,
            changed,
            is_over: false,
        }
    }

    /// Returns whether the turn still owns its thread. If not, the registry counts a late arrival.
    pub(crate) fn check(&self) -> bool {
        self.registry.check(&self.handle).is_ok()
    }

    /// Registers the turn's next hop. Returns whether the turn still owned its thread.
    pub(crate) fn begin_hop(&mut self) -> bool {
        let Ok(handle) = self.registry.replace(&self.handle) else {
            return false;
        };
        self.handle = handle;
        self.changed.notify_one();
        true
    }

    /// Ends the ownership: the turn is over.
    pub(crate) fn complete(&mut self, outcome: &Outcome) {
        self.is_over = true;
        // For the registry a turn that lost its thread has ended before.
        let _ = self.registry.complete(&self.handle, outcome.clone());
        self.changed.notify_one();
    }
}

impl Owner {
    /// Keeps the thread for the turn, which continues elsewhere or later, until another turn takes the thread.
    pub(crate) fn leave(mut self) {
        self.is_over = true;
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !self.is_over {
            // The turn panicked, or its runtime shuts down: no turn must wait for it.
            self.complete(&Outcome::Cancelled);
        }
    }
}
