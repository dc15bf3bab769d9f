//! How many turns, and requests for turns, there may be at once.

use super::Driver;
use crate::engine::{EngineError, forgotten};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use stepwell_core::registry::ThreadKey;
use stepwell_io::store::{StoreError, TurnKey};

/// Leave to read one more request for a turn, until it is dropped.
#[derive(Debug)]
pub struct Permit(Arc<AtomicUsize>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Driver {
    /// Returns a permit to read one more request for a turn, which takes memory too. A client that resumes a run finds
    /// room however many turns are under way; a new turn is counted where it begins.
    ///
    /// # Errors
    /// The limit of requests being read is reached, or the server is stopping.
    pub fn permit(&self) -> Result<Permit, EngineError> {
        if self.is_stopping() {
            return Err(EngineError::Stopping);
        }
        let permit = Permit(Arc::clone(&self.0.permits));
        let before = self.0.permits.fetch_add(1, Ordering::Relaxed);
        let most = self.0.setup.most;
        match before >= most {
            true => Err(EngineError::TooMany { most }),
            false => Ok(permit),
        }
    }

    /// Returns whether the limit of turns under way is reached. Turns that wait for their user do not count.
    pub(crate) fn is_full(&self) -> bool {
        self.working() >= self.0.setup.most
    }

    /// Returns the number of turns under way, as far as that matters.
    fn working(&self) -> usize {
        let active = self.lock();
        match active.len() >= self.0.setup.most {
            true => active.values().filter(|turn| turn.is_working()).count(),
            false => active.len(),
        }
    }

    /// Checks that the user who owns the thread may have one more turn that waits for them. A turn of the thread itself
    /// is stopped where another one begins, and does not count.
    ///
    /// # Errors
    /// The user has as many waiting turns as the limit allows.
    pub(crate) fn check_waiting(&self, thread: &ThreadKey) -> Result<(), EngineError> {
        let most = self.0.setup.waiting;
        let active = self.lock();
        if active.len() < most {
            return Ok(());
        }
        let is_of_user = |key: &ThreadKey| {
            key.server == thread.server && key.room == thread.room && key != thread
        };
        let waiting = active
            .iter()
            .filter(|(key, turn)| is_of_user(&key.thread) && turn.is_waiting());
        match waiting.count() >= most {
            true => Err(EngineError::TooManyWaiting { most }),
            false => Ok(()),
        }
    }

    /// Makes room for a run of a thread, whose latest turn this is, on a store that keeps nothing.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub(crate) async fn forget_ended(&self, latest: Option<TurnKey>) -> Result<(), StoreError> {
        if self.setup().is_durable {
            return Ok(());
        }
        let store = &**self.store();
        self.0.ended.forget(store).await?;
        match latest {
            Some(latest) => forgotten::forget(store, &latest).await,
            None => Ok(()),
        }
    }
}
