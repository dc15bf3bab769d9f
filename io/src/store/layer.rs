//! A store around another one.

use super::{
    Changes, Claimed, EventLog, Generation, Inbox, LeaseKey, LoggedEvent, NewTurn, PersistBatch,
    Store, StoreFuture, ThreadQuery, ThreadRecord, TurnKey, TurnOutline, Unfinished,
};
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;

/// A store around another one, which does what the layer does not do itself. A type that implements it is a [`Store`],
/// and writes only the methods that it changes: to measure writes, to refuse some, to let them fail in a test.
///
/// ```
/// use stepwell_io::store::{Generation, MemoryStore, NewTurn, Store, StoreError, StoreFuture, StoreLayer};
///
/// /// Takes no new turns.
/// #[derive(Debug)]
/// struct Closing(MemoryStore);
///
/// impl StoreLayer for Closing {
///     fn inner(&self) -> &dyn Store {
///         &self.0
///     }
///
///     fn begin_turn<'a>(&'a self, _: &'a NewTurn) -> StoreFuture<'a, Generation> {
///         let message = "this host is about to stop".to_owned();
///         Box::pin(async move { Err(StoreError::Refused { message }) })
///     }
/// }
///
/// let store: Box<dyn Store> = Box::new(Closing(MemoryStore::new()));
/// ```
pub trait StoreLayer: Debug + Send + Sync + 'static {
    /// The store that does what this one does not do itself.
    fn inner(&self) -> &dyn Store;

    /// Begins a turn, as [`Store::begin_turn`] does.
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.inner().begin_turn(turn)
    }

    /// Claims a turn, as [`Store::claim`] does.
    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        self.inner().claim(turn, seen, owner)
    }

    /// Writes a batch, as [`Store::persist`] does.
    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        self.inner().persist(turn, generation, batch)
    }

    /// Returns unfinished turns, as [`Store::unfinished`] does.
    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        self.inner().unfinished(owner)
    }

    /// Renews a lease, as [`Store::renew_lease`] does.
    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        self.inner().renew_lease(key, term)
    }

    /// Ends a lease, as [`Store::end_lease`] does.
    fn end_lease<'a>(&'a self, key: &'a LeaseKey) -> StoreFuture<'a, ()> {
        self.inner().end_lease(key)
    }

    /// Returns orphaned turns, as [`Store::orphans`] does.
    fn orphans(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        self.inner().orphans()
    }

    /// Returns the inbox, as [`Store::inbox`] does.
    fn inbox(&self) -> &dyn Inbox {
        self.inner().inbox()
    }

    /// Returns a turn, as [`Store::turn`] does.
    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        self.inner().turn(turn)
    }

    /// Returns a path, as [`Store::path`] does.
    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        self.inner().path(turn)
    }

    /// Returns the end of a path, as [`Store::path_end`] does.
    fn path_end<'a>(&'a self, turn: &'a TurnKey, limit: usize) -> StoreFuture<'a, Vec<Turn>> {
        self.inner().path_end(turn, limit)
    }

    /// Returns an outline, as [`Store::outline`] does.
    fn outline<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<TurnOutline>> {
        self.inner().outline(thread)
    }

    /// Returns the turns of a thread, as [`Store::turns`] does.
    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        self.inner().turns(thread)
    }

    /// Returns a thread, as [`Store::thread`] does.
    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        self.inner().thread(thread)
    }

    /// Returns threads, as [`Store::threads`] does.
    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        self.inner().threads(query)
    }

    /// Renames a thread, as [`Store::rename_thread`] does.
    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        self.inner().rename_thread(thread, title)
    }

    /// Deletes a thread, as [`Store::delete_thread`] does.
    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        self.inner().delete_thread(thread)
    }

    /// Appends events, as [`Store::append_events`] does.
    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        self.inner().append_events(turn, generation, first, events)
    }

    /// Returns events, as [`Store::events`] does.
    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.inner().events(turn, after, limit)
    }

    /// Returns events, as [`Store::events_within`] does.
    fn events_within<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.inner().events_within(turn, after, limit, bytes)
    }

    /// Checks the store, as [`Store::check`] does.
    fn check(&self) -> StoreFuture<'_, ()> {
        self.inner().check()
    }

    /// Returns a log's state, as [`Store::event_log`] does.
    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        self.inner().event_log(turn)
    }

    /// Drops logs, as [`Store::drop_logs`] does.
    fn drop_logs(&self, ended: Range<Timestamp>, limit: usize) -> StoreFuture<'_, usize> {
        self.inner().drop_logs(ended, limit)
    }

    /// Returns logs' states, as [`Store::event_logs`] does.
    fn event_logs<'a>(&'a self, turns: &'a [TurnKey]) -> StoreFuture<'a, Vec<Option<EventLog>>> {
        self.inner().event_logs(turns)
    }

    /// Acknowledges events, as [`Store::acknowledge`] does.
    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        self.inner().acknowledge(turn, index)
    }

    /// Subscribes to a thread, as [`Store::subscribe`] does.
    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        self.inner().subscribe(thread)
    }
}

impl<L: StoreLayer> Store for L {
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

    fn path_end<'a>(&'a self, turn: &'a TurnKey, limit: usize) -> StoreFuture<'a, Vec<Turn>> {
        StoreLayer::path_end(self, turn, limit)
    }

    fn outline<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<TurnOutline>> {
        StoreLayer::outline(self, thread)
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        StoreLayer::turns(self, thread)
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        StoreLayer::thread(self, thread)
    }

    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        StoreLayer::threads(self, query)
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        StoreLayer::rename_thread(self, thread, title)
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        StoreLayer::delete_thread(self, thread)
    }

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

    fn check(&self) -> StoreFuture<'_, ()> {
        StoreLayer::check(self)
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        StoreLayer::event_log(self, turn)
    }

    fn drop_logs(&self, ended: Range<Timestamp>, limit: usize) -> StoreFuture<'_, usize> {
        StoreLayer::drop_logs(self, ended, limit)
    }

    fn event_logs<'a>(&'a self, turns: &'a [TurnKey]) -> StoreFuture<'a, Vec<Option<EventLog>>> {
        StoreLayer::event_logs(self, turns)
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        StoreLayer::acknowledge(self, turn, index)
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        StoreLayer::subscribe(self, thread)
    }
}
