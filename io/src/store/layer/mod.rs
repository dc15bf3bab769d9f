//! A store around another one.

mod parts;

use super::{
    Changes, Claimed, EventLog, EventStore, Generation, Inbox, LeaseKey, LoggedEvent, NewTurn,
    PersistBatch, StoreFuture, ThreadQuery, ThreadRecord, ThreadStore, TurnKey, TurnOutline,
    TurnStore, Unfinished,
};
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;

/// A store around another one, which does what the layer does not do itself. A type that implements it is a [`TurnStore`],
/// and a [`ThreadStore`] and an [`EventStore`] if the store inside is. It writes only the methods that it changes: to
/// measure writes, to refuse some, to let them fail in a test.
///
/// ```
/// use stepwell_io::store::{Generation, MemoryStore, NewTurn, Store, StoreError, StoreFuture, StoreLayer};
///
/// /// Takes no new turns.
/// #[derive(Debug)]
/// struct Closing(MemoryStore);
///
/// impl StoreLayer for Closing {
///     type Inner = MemoryStore;
///
///     fn inner(&self) -> &MemoryStore {
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
    /// The store inside. The layer has the parts that it has.
    type Inner: TurnStore + ?Sized;

    /// Returns the store that does what the layer does not do itself.
    fn inner(&self) -> &Self::Inner;

    /// Begins a turn, as [`TurnStore::begin_turn`] does.
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.inner().begin_turn(turn)
    }

    /// Claims a turn, as [`TurnStore::claim`] does.
    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        self.inner().claim(turn, seen, owner)
    }

    /// Writes a batch, as [`TurnStore::persist`] does.
    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        self.inner().persist(turn, generation, batch)
    }

    /// Returns unfinished turns, as [`TurnStore::unfinished`] does.
    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        self.inner().unfinished(owner)
    }

    /// Renews a lease, as [`TurnStore::renew_lease`] does.
    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        self.inner().renew_lease(key, term)
    }

    /// Ends a lease, as [`TurnStore::end_lease`] does.
    fn end_lease<'a>(&'a self, key: &'a LeaseKey) -> StoreFuture<'a, ()> {
        self.inner().end_lease(key)
    }

    /// Returns orphaned turns, as [`TurnStore::orphans`] does.
    fn orphans(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        self.inner().orphans()
    }

    /// Returns the inbox, as [`TurnStore::inbox`] does.
    fn inbox(&self) -> &dyn Inbox {
        self.inner().inbox()
    }

    /// Returns a turn, as [`TurnStore::turn`] does.
    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        self.inner().turn(turn)
    }

    /// Returns a path, as [`TurnStore::path`] does.
    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        self.inner().path(turn)
    }

    /// Returns a thread, as [`TurnStore::thread`] does.
    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        self.inner().thread(thread)
    }

    /// Deletes a thread, as [`TurnStore::delete_thread`] does.
    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        self.inner().delete_thread(thread)
    }

    /// Checks the store, as [`TurnStore::check`] does.
    fn check(&self) -> StoreFuture<'_, ()> {
        self.inner().check()
    }

    /// Returns threads, as [`ThreadStore::threads`] does.
    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>>
    where
        Self::Inner: ThreadStore,
    {
        self.inner().threads(query)
    }

    /// Renames a thread, as [`ThreadStore::rename_thread`] does.
    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()>
    where
        Self::Inner: ThreadStore,
    {
        self.inner().rename_thread(thread, title)
    }

    /// Returns the turns of a thread, as [`ThreadStore::turns`] does.
    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>>
    where
        Self::Inner: ThreadStore,
    {
        self.inner().turns(thread)
    }

    /// Returns an outline, as [`ThreadStore::outline`] does.
    fn outline<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<TurnOutline>>
    where
        Self::Inner: ThreadStore,
    {
        self.inner().outline(thread)
    }

    /// Returns the end of a path, as [`ThreadStore::path_end`] does.
    fn path_end<'a>(&'a self, turn: &'a TurnKey, limit: usize) -> StoreFuture<'a, Vec<Turn>>
    where
        Self::Inner: ThreadStore,
    {
        self.inner().path_end(turn, limit)
    }

    /// Appends events, as [`EventStore::append_events`] does.
    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()>
    where
        Self::Inner: EventStore,
    {
        self.inner().append_events(turn, generation, first, events)
    }

    /// Returns events, as [`EventStore::events`] does.
    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>>
    where
        Self::Inner: EventStore,
    {
        self.inner().events(turn, after, limit)
    }

    /// Returns events, as [`EventStore::events_within`] does.
    fn events_within<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>>
    where
        Self::Inner: EventStore,
    {
        self.inner().events_within(turn, after, limit, bytes)
    }

    /// Returns a log's state, as [`EventStore::event_log`] does.
    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog>
    where
        Self::Inner: EventStore,
    {
        self.inner().event_log(turn)
    }

    /// Returns logs' states, as [`EventStore::event_logs`] does.
    fn event_logs<'a>(&'a self, turns: &'a [TurnKey]) -> StoreFuture<'a, Vec<Option<EventLog>>>
    where
        Self::Inner: EventStore,
    {
        self.inner().event_logs(turns)
    }

    /// Acknowledges events, as [`EventStore::acknowledge`] does.
    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()>
    where
        Self::Inner: EventStore,
    {
        self.inner().acknowledge(turn, index)
    }

    /// Drops logs, as [`EventStore::drop_logs`] does.
    fn drop_logs(&self, ended: Range<Timestamp>, limit: usize) -> StoreFuture<'_, usize>
    where
        Self::Inner: EventStore,
    {
        self.inner().drop_logs(ended, limit)
    }

    /// Subscribes to a thread, as [`EventStore::subscribe`] does.
    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes>
    where
        Self::Inner: EventStore,
    {
        self.inner().subscribe(thread)
    }
}
