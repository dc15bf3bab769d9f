//! Whose thread it is.

use std::sync::Arc;
use stepwell_core::registry::{RunHandle, SharedRegistry};
use stepwell_core::run::Outcome;
use tokio::sync::Notify;

/// A turn's hold on its thread. Another turn may take the thread over at any time; from then on nothing that the turn
/// does counts.
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

    /// Whether the thread is still the turn's. Where it is not, the registry keeps that something came too late.
    pub(crate) fn holds(&self) -> bool {
        self.registry.check(&self.handle).is_ok()
    }

    /// The turn goes on with its next hop. Whether the thread was still its own.
    pub(crate) fn go_on(&mut self) -> bool {
        let Ok(handle) = self.registry.replace(&self.handle) else {
            return false;
        };
        self.handle = handle;
        self.changed.notify_one();
        true
    }

    /// The turn is over.
    pub(crate) fn complete(&mut self, outcome: &Outcome) {
        self.is_over = true;
        // One that lost its thread was over for the registry before.
        let _ = self.registry.complete(&self.handle, outcome.clone());
        self.changed.notify_one();
    }
}

impl Owner {
    /// The turn goes on elsewhere, or later: the thread stays its own until somebody takes it.
    pub(crate) fn leave(mut self) {
        self.is_over = true;
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !self.is_over {
            // The turn broke off, or its runtime shuts down: nobody is to wait for it.
            self.complete(&Outcome::Cancelled);
        }
    }
}
