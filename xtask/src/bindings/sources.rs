//! Whose turn it is in a package's own folder.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The folder of a package's sources, in which suites build and test one after the other.
pub(crate) struct Sources(Mutex<()>);

impl Sources {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(()))
    }

    /// Waits for the folder, which is the caller's until the guard is dropped.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
