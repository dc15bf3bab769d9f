//! A store that is opened for a test.

use super::support::AnyStore;
use crate::store::Store;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A store for one test.
pub struct OpenedStore {
    /// The store.
    pub store: AnyStore,
    /// What the store needs until the test is over: a temporary directory, say.
    pub guard: Box<dyn Any + Send + Sync>,
}

impl OpenedStore {
    /// A store, and what it needs until the test is over.
    pub fn new(store: impl Store + 'static, guard: impl Any + Send + Sync) -> Self {
        Self {
            store: Arc::new(store),
            guard: Box::new(guard),
        }
    }
}

impl fmt::Debug for OpenedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedStore").finish_non_exhaustive()
    }
}

/// The return value of a function that opens stores for tests.
pub trait TestStore {
    /// The store; `None` skips the test, where its server is not there.
    fn opened(self) -> Option<OpenedStore>;
}

impl TestStore for OpenedStore {
    fn opened(self) -> Option<OpenedStore> {
        Some(self)
    }
}

impl TestStore for Option<OpenedStore> {
    fn opened(self) -> Option<OpenedStore> {
        self
    }
}

impl TestStore for Arc<dyn Store> {
    fn opened(self) -> Option<OpenedStore> {
        Some(OpenedStore {
            store: self,
            guard: Box::new(()),
        })
    }
}
