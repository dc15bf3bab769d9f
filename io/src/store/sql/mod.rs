//! The stores on SQL databases. They share the schema, the statements and the way changes are committed; a database brings
//! its connections, its errors and a few words.

mod change;
mod commands;
mod database;
#[cfg(feature = "postgres")]
mod postgres;
mod read;
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
mod write;

#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore, SqliteSync};

use super::record::{
    Claimed, EventLog, Generation, LoggedEvent, NewTurn, PersistBatch, ThreadQuery, ThreadRecord,
    TurnKey, TurnOutline, Unfinished,
};
use super::wake::Changes;
use super::{EventStore, Inbox, LeaseKey, StoreError, StoreFuture, ThreadStore, TurnStore, check};
use change::{Change, submit};
use database::{Access, Database};
use futures::FutureExt;
use std::future::ready;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;

/// A store on an SQL database. Cloning returns another handle on the same one.
///
/// Changes that wait at the same time are committed in one transaction: a server under load flushes to the disk far less
/// often than it stores.
#[derive(Debug)]
pub struct SqlStore<D: Database> {
    database: Arc<D>,
}

impl<D: Database> Clone for SqlStore<D> {
    fn clone(&self) -> Self {
        Self {
            database: Arc::clone(&self.database),
        }
    }
}

impl<D: Database> SqlStore<D> {
    fn of(database: D) -> Self {
        Self {
            database: Arc::new(database),
        }
    }

    /// Makes a change, unless it is refused already.
    fn change<C: Change<D::Session>>(
        &self,
        change: Result<C, StoreError>,
    ) -> StoreFuture<'_, C::Output> {
        match change {
            Ok(change) => submit(&*self.database, change).boxed(),
            Err(error) => ready(Err(error)).boxed(),
        }
    }
}

/// Runs a query with its own copy of what it asks for.
macro_rules! query {
    ($store:expr, $access:ident, |$session:ident| $read:expr) => {{
        let database = &$store.database;
        database.query(
            Access::$access,
            Box::new(move |$session| async move { $read.await }.boxed()),
        )
    }};
}
use query;

impl<D: Database> TurnStore for SqlStore<D> {
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.change(write::Begin::new(turn))
    }

    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        self.change(check::owner(owner).map(|()| write::Claim {
            turn: turn.clone(),
            seen,
            owner: owner.to_owned(),
        }))
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        let persist = self.change(write::Persist::step(turn, generation, batch));
        async move { persist.await.map(drop) }.boxed()
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        let owner = owner.map(str::to_owned);
        query!(self, Statement, |session| read::unfinished(
            session,
            owner.as_deref()
        ))
        .boxed()
    }

    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        self.change(check::owner(&key.owner).map(|()| write::Lease {
            key: key.clone(),
            term: Some(term),
        }))
    }

    fn end_lease<'a>(&'a self, key: &'a LeaseKey) -> StoreFuture<'a, ()> {
        self.change(Ok(write::Lease {
            key: key.clone(),
            term: None,
        }))
    }

    fn orphans(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        query!(self, Statement, |session| read::orphans(session)).boxed()
    }

    fn inbox(&self) -> &dyn Inbox {
        self
    }

    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        let turn = turn.clone();
        query!(self, Snapshot, |session| read::turn(session, &turn)).boxed()
    }

    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        let turn = turn.clone();
        query!(self, Snapshot, |session| read::path(session, &turn, None)).boxed()
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        let thread = thread.clone();
        query!(self, Statement, |session| read::thread(session, &thread)).boxed()
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        let thread = thread.clone();
        self.change(Ok(write::Delete { thread }))
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.change(Ok(write::Check))
    }
}

impl<D: Database> ThreadStore for SqlStore<D> {
    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        let query = query.clone();
        query!(self, Statement, |session| read::threads(session, &query)).boxed()
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        self.change(check::title(title).map(|()| write::Rename {
            thread: thread.clone(),
            title: title.to_owned(),
        }))
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        let thread = thread.clone();
        query!(self, Snapshot, |session| read::turns(session, &thread)).boxed()
    }

    fn outline<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<TurnOutline>> {
        let thread = thread.clone();
        query!(self, Statement, |session| read::outline(session, &thread)).boxed()
    }

    fn path_end<'a>(&'a self, turn: &'a TurnKey, limit: usize) -> StoreFuture<'a, Vec<Turn>> {
        let turn = turn.clone();
        query!(self, Snapshot, |session| read::path(
            session,
            &turn,
            Some(limit)
        ))
        .boxed()
    }
}

impl<D: Database> EventStore for SqlStore<D> {
    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        let append = self.change(write::Persist::events(turn, generation, first, events));
        async move { append.await.map(drop) }.boxed()
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        let turn = turn.clone();
        query!(self, Statement, |session| read::events_of(
            session, &turn, after, limit
        ))
        .boxed()
    }

    fn events_within<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        let turn = turn.clone();
        query!(self, Statement, |session| read::events_within(
            session,
            &turn,
            (after, limit, bytes)
        ))
        .boxed()
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        let turn = turn.clone();
        query!(self, Statement, |session| read::event_log(session, &turn)).boxed()
    }

    fn event_logs<'a>(&'a self, turns: &'a [TurnKey]) -> StoreFuture<'a, Vec<Option<EventLog>>> {
        let turns = turns.to_vec();
        query!(self, Statement, |session| read::event_logs(session, &turns)).boxed()
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        let turn = turn.clone();
        self.change(Ok(write::Acknowledge { turn, index }))
    }

    fn drop_logs(&self, ended: Range<Timestamp>, limit: usize) -> StoreFuture<'_, usize> {
        async move {
            let turns = query!(self, Statement, |session| read::logs_to_drop(
                session, &ended, limit
            ));
            let turns = turns.await?;
            let count = turns.len();
            if count > 0 {
                self.change(Ok(write::DropLogs { turns })).await?;
            }
            Ok(count)
        }
        .boxed()
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        ready(Ok(self.database.subscribe(thread))).boxed()
    }
}
