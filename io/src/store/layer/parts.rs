//! A layer as each part of a store.

use super::StoreLayer;
use crate::store::{
    Changes, Claimed, EventLog, EventStore, Generation, Inbox, LeaseKey, LoggedEvent, NewTurn,
    PersistBatch, StoreFuture, ThreadQuery, ThreadRecord, ThreadStore, TurnKey, TurnOutline,
    TurnStore, Unfinished,
};
use std::ops::Range;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;

impl<L: StoreLayer> TurnStore for L {
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        StoreLayer::begin_turn(self, turn)
    }

    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        StoreLayer::claim(self, turn, seen, owner)
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        StoreLayer::persist(self, turn, generation, batch)
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        StoreLayer::unfinished(self, owner)
    }

    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        StoreLayer::renew_lease(self, key, term)
    }

    fn end_lease<'a>(&'a self, key: &'a LeaseKey) -> StoreFuture<'a, ()> {
        StoreLayer::end_lease(self, key)
    }

    fn orphans(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        StoreLayer::orphans(self)
    }

    fn inbox(&self) -> &dyn Inbox {
        StoreLayer::inbox(self)
    }

    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        StoreLayer::turn(self, turn)
    }

    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        StoreLayer::path(self, turn)
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        StoreLayer::thread(self, thread)
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        StoreLayer::delete_thread(self, thread)
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        StoreLayer::check(self)
    }
}

impl<L: StoreLayer<Inner: ThreadStore>> ThreadStore for L {
    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        StoreLayer::threads(self, query)
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        StoreLayer::rename_thread(self, thread, title)
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        StoreLayer::turns(self, thread)
    }

    fn outline<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<TurnOutline>> {
        StoreLayer::outline(self, thread)
    }

    fn path_end<'a>(&'a self, turn: &'a TurnKey, limit: usize) -> StoreFuture<'a, Vec<Turn>> {
        StoreLayer::path_end(self, turn, limit)
    }
}

impl<L: StoreLayer<Inner: EventStore>> EventStore for L {
    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        StoreLayer::append_events(self, turn, generation, first, events)
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        StoreLayer::events(self, turn, after, limit)
    }

    fn events_within<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        StoreLayer::events_within(self, turn, after, limit, bytes)
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        StoreLayer::event_log(self, turn)
    }

    fn event_logs<'a>(&'a self, turns: &'a [TurnKey]) -> StoreFuture<'a, Vec<Option<EventLog>>> {
        StoreLayer::event_logs(self, turns)
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        StoreLayer::acknowledge(self, turn, index)
    }

    fn drop_logs(&self, ended: Range<Timestamp>, limit: usize) -> StoreFuture<'_, usize> {
        StoreLayer::drop_logs(self, ended, limit)
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        StoreLayer::subscribe(self, thread)
    }
}
