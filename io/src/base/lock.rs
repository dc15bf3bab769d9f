use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. No code leaves the data behind such a lock half changed, so a panic elsewhere spoils nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
