//! Whether the store has been found damaged: by a request, a turn, or by looking.

use futures::FutureExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;
use stepwell_io::store::{
    Changes, Claimed, EventLog, Generation, LoggedEvent, NewTurn, PersistBatch, Presence, Store,
    StoreError, StoreFuture, StoreLayer, ThreadQuery, ThreadRecord, TurnKey, Unfinished,
};

/// How long a look at the store may take. One that is out of reach is not damaged.
const LOOK: Duration = Duration::from_secs(2);

/// Hands all on to another store, and notes whether that says that it is damaged.
#[derive(Clone, Debug)]
pub(super) struct StoreHealth {
    store: Arc<dyn Store>,
    is_damaged: Arc<AtomicBool>,
}

impl StoreHealth {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            is_damaged: Arc::default(),
        }
    }

    /// Whether the store was ever damaged, or is now. It does not mend itself.
    pub(super) async fn is_damaged(&self) -> bool {
        if !self.is_damaged.load(Ordering::Relaxed) {
            let query = ThreadQuery {
                server: None,
                room: None,
                after: None,
                limit: 1,
            };
            // What it says is noted below.
            let _ = tokio::time::timeout(LOOK, Store::threads(self, &query)).await;
        }
        self.is_damaged.load(Ordering::Relaxed)
    }

    fn note<'a, T: 'a>(&'a self, call: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        async move {
            let done = tokio::time::timeout(LONGEST_CALL, call).await;
            // Nobody is to wait for ever: the network may have swallowed it.
            let done = done.unwrap_or_else(|_| {
                let message = format!("no answer in {} s", LONGEST_CALL.as_secs());
                Err(StoreError::Unavailable { message })
            });
            if let Err(StoreError::Damaged { .. }) = done {
                self.is_damaged.store(true, Ordering::Relaxed);
            }
            done
        }
        .boxed()
    }
}

/// A call that takes longer has failed.
const LONGEST_CALL: Duration = Duration::from_secs(30);

impl StoreLayer for StoreHealth {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.note(self.store.begin_turn(turn))
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
        self.note(self.store.persist(turn, generation, batch))
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        self.note(self.store.unfinished(owner))
    }

    fn attend<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Presence> {
        self.note(self.store.attend(owner))
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
        self.note(self.store.append_events(turn, generation, first, events))
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.note(self.store.events(turn, after, limit))
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
