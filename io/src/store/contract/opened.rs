//! A store that is opened for a test.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A store for one test.
pub struct OpenedStore<S: ?Sized> {
    /// The store.
    pub store: Arc<S>,
    /// What the store needs until the test is over: a temporary directory, say.
    pub guard: Box<dyn Any + Send + Sync>,
}

impl<S> OpenedStore<S> {
    /// Returns a store with what it needs until the test is over.
    pub fn new(store: S, guard: impl Any + Send + Sync) -> Self {
        Self {
            store: Arc::new(store),
            guard: Box::new(guard),
        }
    }
}

impl<S: ?Sized> fmt::Debug for OpenedStore<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedStore").finish_non_exhaustive()
    }
}

/// The return value of a function that opens stores for tests: an `Arc` of a store, an [`OpenedStore`], or an `Option` of
/// one.
pub trait TestStore {
    /// The store's type, which implements the parts that are tested.
    type Store: ?Sized;

    /// Returns the store; `None` skips the test, where its server is not there.
    fn opened(self) -> Option<OpenedStore<Self::Store>>;
}

impl<S: ?Sized> TestStore for OpenedStore<S> {
    type Store = S;

    fn opened(self) -> Option<Self> {
        Some(self)
    }
}

impl<S: ?Sized> TestStore for Option<OpenedStore<S>> {
    type Store = S;

    fn opened(self) -> Self {
        self
    }
}

impl<S: ?Sized> TestStore for Arc<S> {
    type Store = S;

    fn opened(self) -> Option<OpenedStore<S>> {
        Some(OpenedStore {
            store: self,
            guard: Box::new(()),
        })
    }
}
