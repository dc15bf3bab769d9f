use super::run_registry::trace_disposal;
use super::{Registered, RegistryEvent, RunHandle, RunRegistry, Stale, ThreadKey};
use crate::run::Outcome;
use crate::sync::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};

/// A [`RunRegistry`] for hosts with threads: clones are the same registry, and every call is one step that no other
/// call comes between.
///
/// No foreign code runs under the lock, and no call waits for more than another call's few map look-ups.
///
/// ```
/// use stepwell_core::registry::{SharedRegistry, ThreadKey};
///
/// let registry = SharedRegistry::default();
/// let first = registry.register(ThreadKey::from("thread-1")).handle;
/// let winners: usize = std::thread::scope(|scope| {
///     let racers: Vec<_> = (0..4).map(|_| scope.spawn(|| registry.replace(&first).is_ok())).collect();
///     racers.into_iter().filter_map(|racer| racer.join().ok()).filter(|won| *won).count()
/// });
/// assert_eq!(winners, 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct SharedRegistry(Arc<Mutex<RunRegistry>>);

impl From<RunRegistry> for SharedRegistry {
    fn from(registry: RunRegistry) -> Self {
        Self(Arc::new(Mutex::new(registry)))
    }
}

impl SharedRegistry {
    /// No call panics half-way, so the data is consistent even after a thread's panic.
    pub(super) fn lock(&self) -> MutexGuard<'_, RunRegistry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy of the present registry, for storage.
    #[must_use]
    pub fn snapshot(&self) -> RunRegistry {
        self.lock().clone()
    }

    /// See [`RunRegistry::register`].
    pub fn register(&self, key: ThreadKey) -> Registered {
        self.lock().register(key)
    }

    /// See [`RunRegistry::replace`].
    ///
    /// # Errors
    /// Another handle owns the thread, or none does; nothing was changed.
    pub fn replace(&self, old: &RunHandle) -> Result<RunHandle, Stale> {
        let replaced = self.lock().replace_quietly(old);
        replaced.inspect_err(Stale::trace)
    }

    /// See [`RunRegistry::check`].
    ///
    /// # Errors
    /// The handle is stale: drop the input.
    pub fn check(&self, handle: &RunHandle) -> Result<(), Stale> {
        let checked = self.lock().check_quietly(handle);
        checked.inspect_err(Stale::trace)
    }

    /// See [`RunRegistry::complete`].
    ///
    /// # Errors
    /// The run had lost its thread before; nothing was changed.
    pub fn complete(&self, handle: &RunHandle, outcome: Outcome) -> Result<(), Stale> {
        let completed = self.lock().complete_quietly(handle, outcome);
        completed.inspect_err(Stale::trace)
    }

    /// See [`RunRegistry::disposal_failed`].
    pub fn disposal_failed(&self, handle: &RunHandle, message: &str) {
        self.lock().disposal_failed_quietly(handle, message);
        trace_disposal(handle, message);
    }

    /// See [`RunRegistry::current`].
    #[must_use]
    pub fn current(&self, key: &ThreadKey) -> Option<RunHandle> {
        self.lock().current(key)
    }

    /// See [`RunRegistry::running`].
    #[must_use]
    pub fn running(&self) -> Vec<RunHandle> {
        self.lock().running().collect()
    }

    /// See [`RunRegistry::look_at`].
    pub fn look_at(&self, key: Option<ThreadKey>) {
        self.lock().look_at(key);
    }

    /// See [`RunRegistry::looked_at`].
    #[must_use]
    pub fn looked_at(&self) -> Option<ThreadKey> {
        self.lock().looked_at().cloned()
    }

    /// See [`RunRegistry::unread`].
    #[must_use]
    pub fn unread(&self, key: &ThreadKey) -> bool {
        self.lock().unread(key)
    }

    /// See [`RunRegistry::unread_threads`].
    #[must_use]
    pub fn unread_threads(&self) -> Vec<ThreadKey> {
        self.lock().unread_threads().cloned().collect()
    }

    /// See [`RunRegistry::remove`].
    pub fn remove(&self, key: &ThreadKey) -> Option<RunHandle> {
        self.lock().remove(key)
    }

    /// See [`RunRegistry::poll_event`]. Each event goes to one caller.
    #[must_use]
    pub fn poll_event(&self) -> Option<RegistryEvent> {
        self.lock().poll_event()
    }
}
