//! The stored sessions, and the engine of their turns.

use std::sync::Arc;
use stepwell_core::session::ViewOptions;
use stepwell_io::store::Store;
use stepwell_serve::parts::Engine;

/// The stored sessions, and the engine of their turns.
#[derive(Debug)]
pub(super) struct StoredSessions {
    store: Arc<dyn Store>,
    engine: Arc<dyn Engine>,
    view: ViewOptions,
    /// Whether the sessions survive a restart.
    is_durable: bool,
}

impl StoredSessions {
    pub(super) fn new(
        store: Arc<dyn Store>,
        engine: Arc<dyn Engine>,
        view: ViewOptions,
        is_durable: bool,
    ) -> Self {
        Self {
            store,
            engine,
            view,
            is_durable,
        }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(super) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    pub(super) fn view(&self) -> &ViewOptions {
        &self.view
    }

    pub(super) fn is_durable(&self) -> bool {
        self.is_durable
    }
}
