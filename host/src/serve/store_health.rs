//! Whether the store has been found damaged, or cannot be written: by a request, a turn, or by looking.

use futures::FutureExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;
use stepwell_io::store::{
    Changes, Claimed, EventLog, Generation, LeaseKey, LoggedEvent, NewTurn, PersistBatch, Store,
    StoreError, StoreFuture, StoreLayer, ThreadQuery, ThreadRecord, TurnKey, TurnStore, Unfinished,
};
use stepwell_serve::parts::StoreTrouble;
use tokio::time::Instant;

/// The time that a check of the store may take. A store that is out of reach is not damaged.
const LOOK: Duration = Duration::from_secs(2);

/// For how long a store counts as it was at the last look, and one that did not take a write as unable to.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const RECENTLY: Duration = Duration::from_secs(10);

/// Passes all calls to another store, and notes whether that store reports damage, or takes no writes.
#[derive(Clone, Debug)]
pub(super) struct StoreHealth {
    store: Arc<dyn Store>,
    is_damaged: Arc<AtomicBool>,
    /// The time and the kind of the last failed write, if the last one failed.
    refused: Arc<Mutex<Option<(Instant, StoreTrouble)>>>,
    looked: Arc<tokio::sync::Mutex<Option<Look>>>,
}

/// The result of a check of the store.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Instant,
    trouble: Option<StoreTrouble>,
}

impl StoreHealth {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            is_damaged: Arc::default(),
            refused: Arc::default(),
            looked: Arc::default(),
        }
    }

    /// Returns whether the store was ever damaged, as far as is known. A damaged store does not repair itself.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Looks whether the store can be reached and written, a second apart at least. A store that is full is known by the
    /// writes that it does not take, and counts as such for some seconds: after that it is tried again.
    pub(super) async fn trouble(&self) -> Option<StoreTrouble> {
        let refused = *self.lock();
        if let Some((at, trouble)) = refused
            && at.elapsed() < RECENTLY
        {
            return Some(trouble);
        }
        let mut looked = self.looked.lock().await;
        let before = *looked;
        if let Some(look) = before
            && look.at.elapsed() < LOOK_EVERY
        {
            return look.trouble;
        }
        // Damage is noted below.
        let checked = tokio::time::timeout(LOOK, TurnStore::check(self)).await;
        let trouble = match checked {
            Ok(checked) => checked.err().map(|error| StoreTrouble::from(&error)),
            Err(_) => Some(StoreTrouble::Unavailable),
        };
        if let Some(trouble) = trouble
            && before.is_none_or(|look| look.trouble.is_none())
        {
            tracing::warn!(target: "stepwell", ?trouble, "the store takes no writes: the server is not ready");
        }
        *looked = Some(Look {
            at: Instant::now(),
            trouble,
        });
        trouble
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Instant, StoreTrouble)>> {
        // Nothing is left half-done under the lock.
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the result of a call that writes, as [`note`](Self::note) does.
    fn note_write<'a, T: 'a + Send>(&'a self, call: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        async move {
            let done = self.note(call).await;
            let trouble = match &done {
                Err(error @ (StoreError::Full { .. } | StoreError::ReadOnly { .. })) => {
                    Some((Instant::now(), StoreTrouble::from(error)))
                }
                Err(StoreError::Unavailable { .. }) => return done,
                _ => None,
            };
            *self.lock() = trouble;
            done
        }
        .boxed()
    }

    fn note<'a, T: 'a>(&'a self, call: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        async move {
            let done = tokio::time::timeout(LONGEST_CALL, call).await;
            // The call must not wait for ever: the network may have swallowed it.
            let done = done.unwrap_or_else(|_| {
                let message = format!("no answer in {} s", LONGEST_CALL.as_secs());
                Err(StoreError::Unavailable { message })
            });
            if let Err(error @ StoreError::Damaged { .. }) = &done
                && !self.is_damaged.swap(true, Ordering::Relaxed)
            {
                tracing::error!(target: "stepwell", %error, "the store is damaged: the server is not ready");
            }
            done
        }
        .boxed()
    }
}

/// A call that takes longer has failed.
const LONGEST_CALL: Duration = Duration::from_secs(30);

impl StoreLayer for StoreHealth {
    type Inner = dyn Store;

    fn inner(&self) -> &Self::Inner {
        &*self.store
    }

    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.note_write(self.store.begin_turn(turn))
    }

    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        self.note(self.store.claim(turn, seen, owner))
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        self.note_write(self.store.persist(turn, generation, batch))
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        self.note(self.store.unfinished(owner))
    }

    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        self.note(self.store.renew_lease(key, term))
    }

    fn end_lease<'a>(&'a self, key: &'a LeaseKey) -> StoreFuture<'a, ()> {
        self.note(self.store.end_lease(key))
    }

    fn orphans(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        self.note(self.store.orphans())
    }

    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        self.note(self.store.turn(turn))
    }

    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        self.note(self.store.path(turn))
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        self.note(self.store.turns(thread))
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        self.note(self.store.thread(thread))
    }

    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        self.note(self.store.threads(query))
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        self.note(self.store.rename_thread(thread, title))
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        self.note(self.store.delete_thread(thread))
    }

    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        self.note_write(self.store.append_events(turn, generation, first, events))
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.note(self.store.events(turn, after, limit))
    }

    fn events_within<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.note(self.store.events_within(turn, after, limit, bytes))
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.note(self.store.check())
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        self.note(self.store.event_log(turn))
    }

    fn event_logs<'a>(&'a self, turns: &'a [TurnKey]) -> StoreFuture<'a, Vec<Option<EventLog>>> {
        self.note(self.store.event_logs(turns))
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        self.note(self.store.acknowledge(turn, index))
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        self.note(self.store.subscribe(thread))
    }
}
