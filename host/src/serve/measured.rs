//! A store whose writes are measured.

use crate::metrics::Metrics;
use futures::FutureExt;
use std::sync::Arc;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;
use stepwell_io::store::{
    Changes, Claimed, EventLog, Generation, LoggedEvent, NewTurn, PersistBatch, Store, StoreFuture,
    ThreadQuery, ThreadRecord, TurnKey, Unfinished,
};
use tokio::time::Instant;

/// Hands all on to another store, and measures how long it takes to persist.
#[derive(Debug)]
pub(super) struct MeasuredStore {
    pub(super) store: Arc<dyn Store>,
    pub(super) metrics: Metrics,
}

impl Store for MeasuredStore {
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.store.begin_turn(turn)
    }

    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        self.store.claim(turn, seen, owner)
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        async move {
            let begin = Instant::now();
            let done = self.store.persist(turn, generation, batch).await;
            self.metrics.persist(begin.elapsed(), done.is_ok());
            done
        }
        .boxed()
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        self.store.unfinished(owner)
    }

    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        self.store.turn(turn)
    }

    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        self.store.path(turn)
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        self.store.turns(thread)
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        self.store.thread(thread)
    }

    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        self.store.threads(query)
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        self.store.rename_thread(thread, title)
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        self.store.delete_thread(thread)
    }

    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        self.store.append_events(turn, generation, first, events)
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.store.events(turn, after, limit)
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        self.store.event_log(turn)
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        self.store.acknowledge(turn, index)
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        self.store.subscribe(thread)
    }
}
