//! The stores on SQL databases. They share the schema and all statements; a database brings its connections, its
//! errors and a few words.

#[cfg(feature = "postgres")]
mod announcing;
#[cfg(feature = "postgres")]
mod attending;
mod database;
#[cfg(feature = "sqlite")]
mod file_lock;
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

use super::presence::Presence;
use super::record::{
    Claimed, EventLog, Generation, LoggedEvent, NewTurn, PersistBatch, ThreadQuery, ThreadRecord,
    TurnKey, Unfinished,
};
use super::wake::Changes;
use super::{Store, StoreError, StoreFuture, check};
use database::{Access, Database, Transaction};
use futures::FutureExt;
use std::future::ready;
use std::sync::Arc;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::TurnStatus;
use stepwell_core::session::Turn;

/// A store on an SQL database. Cloning gives another handle on the same one.
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

    async fn look(&self) -> Result<D::Transaction, StoreError> {
        self.database.begin(Access::Look).await
    }

    async fn read(&self) -> Result<D::Transaction, StoreError> {
        self.database.begin(Access::Read).await
    }

    async fn write(&self) -> Result<D::Transaction, StoreError> {
        self.database.begin(Access::Write).await
    }

    /// Makes a change of a thread last, and wakes whoever follows it.
    async fn done(
        &self,
        mut transaction: D::Transaction,
        thread: &ThreadKey,
    ) -> Result<(), StoreError> {
        let announced = self.database.announce_with(&mut transaction, thread);
        announced.await?;
        self.commit(transaction, thread, false).await
    }

    /// As [`done`](Self::done), of a turn that stays open. Other processes are told after it: if this one dies before it
    /// has told them, whoever takes the turn over makes the next change.
    async fn goes_on(
        &self,
        transaction: D::Transaction,
        thread: &ThreadKey,
    ) -> Result<(), StoreError> {
        self.commit(transaction, thread, true).await
    }

    /// Either of them, by where the turn stands now.
    async fn done_at(
        &self,
        transaction: D::Transaction,
        thread: &ThreadKey,
        status: TurnStatus,
    ) -> Result<(), StoreError> {
        match status {
            TurnStatus::Streaming => self.goes_on(transaction, thread).await,
            _ => self.done(transaction, thread).await,
        }
    }

    async fn commit(
        &self,
        transaction: D::Transaction,
        thread: &ThreadKey,
        is_to_be_announced: bool,
    ) -> Result<(), StoreError> {
        let (database, thread) = (Arc::clone(&self.database), thread.clone());
        // To its end, also if nobody waits for it any more: who follows the thread hears of what lasts.
        let done = tokio::spawn(async move {
            let done = transaction.commit().await;
            // After an error too: it may last.
            database.wakers().wake(&thread);
            if done.is_ok() && is_to_be_announced {
                database.announce(&thread).await;
            }
            done
        });
        let done = done.await.map_err(|error| StoreError::Other {
            message: error.to_string(),
        });
        done?
    }
}

impl<D: Database> Store for SqlStore<D> {
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        async move {
            check::new_turn(turn)?;
            let mut transaction = self.write().await?;
            let done = write::begin_turn::<D>(&mut transaction, turn).await?;
            self.goes_on(transaction, &turn.key.thread).await?;
            Ok(done)
        }
        .boxed()
    }

    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        async move {
            check::owner(owner)?;
            let mut transaction = self.write().await?;
            let done = write::claim::<D>(&mut transaction, turn, seen, owner).await?;
            self.goes_on(transaction, &turn.thread).await?;
            Ok(done)
        }
        .boxed()
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        async move {
            check::batch(batch)?;
            let mut transaction = self.write().await?;
            write::persist::<D>(&mut transaction, turn, generation, batch).await?;
            self.done_at(transaction, &turn.thread, batch.status).await
        }
        .boxed()
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        async move {
            let mut transaction = self.look().await?;
            let found = read::unfinished::<D>(&mut transaction, owner).await?;
            transaction.commit().await?;
            Ok(found)
        }
        .boxed()
    }

    fn attend<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Presence> {
        async move {
            check::owner(owner)?;
            self.database.attend(owner).await
        }
        .boxed()
    }

    fn orphans(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        async move {
            let mut transaction = self.look().await?;
            let mut found = read::orphans::<D>(&mut transaction).await?;
            transaction.commit().await?;
            if D::ABSENT.is_none() {
                found.retain(|turn| !Presence::is_here(&turn.owner));
            }
            Ok(found)
        }
        .boxed()
    }

    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        async move {
            let mut transaction = self.read().await?;
            let found = read::turn::<D>(&mut transaction, turn).await?;
            transaction.commit().await?;
            Ok(found)
        }
        .boxed()
    }

    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        async move {
            let mut transaction = self.read().await?;
            let found = read::path::<D>(&mut transaction, turn).await?;
            transaction.commit().await?;
            Ok(found)
        }
        .boxed()
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        async move {
            let mut transaction = self.read().await?;
            let found = read::turns::<D>(&mut transaction, thread).await?;
            transaction.commit().await?;
            Ok(found)
        }
        .boxed()
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        async move {
            let mut transaction = self.look().await?;
            let found = read::thread::<D>(&mut transaction, thread).await?;
            transaction.commit().await?;
            Ok(found)
        }
        .boxed()
    }

    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        async move {
            let mut transaction = self.look().await?;
            let found = read::threads::<D>(&mut transaction, query).await?;
            transaction.commit().await?;
            Ok(found)
        }
        .boxed()
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        async move {
            check::title(title)?;
            let mut transaction = self.write().await?;
            write::rename_thread::<D>(&mut transaction, thread, title).await?;
            self.done(transaction, thread).await
        }
        .boxed()
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        async move {
            let mut transaction = self.write().await?;
            let done = write::delete_thread::<D>(&mut transaction, thread).await?;
            self.done(transaction, thread).await?;
            Ok(done)
        }
        .boxed()
    }

    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        async move {
            check::events(events)?;
            let mut transaction = self.write().await?;
            let append = (generation, first, events);
            let status = write::append_events::<D>(&mut transaction, turn, append).await?;
            self.done_at(transaction, &turn.thread, status).await
        }
        .boxed()
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        async move {
            let mut transaction = self.look().await?;
            let found = read::events_of::<D>(&mut transaction, turn, after, limit).await?;
            if found.is_empty() {
                // Of a turn that is not there there are none either.
                read::state::<D>(&mut transaction, turn, "").await?;
            }
            transaction.commit().await?;
            Ok(found)
        }
        .boxed()
    }

    fn events_within<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        async move {
            let mut transaction = self.look().await?;
            let page = (after, limit, bytes);
            let found = read::events_within::<D>(&mut transaction, turn, page).await?;
            if found.is_empty() {
                read::state::<D>(&mut transaction, turn, "").await?;
            }
            transaction.commit().await?;
            Ok(found)
        }
        .boxed()
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        async move {
            let mut transaction = self.write().await?;
            // It changes nothing, and is refused where nothing may be changed.
            let sql = "UPDATE threads SET title = title WHERE 1 = 0";
            transaction.execute(sql, &[]).await?;
            transaction.commit().await
        }
        .boxed()
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        async move {
            let mut transaction = self.look().await?;
            let state = read::state::<D>(&mut transaction, turn, "").await?;
            transaction.commit().await?;
            Ok(read::log(state.events, state.acknowledged))
        }
        .boxed()
    }

    fn event_logs<'a>(&'a self, turns: &'a [TurnKey]) -> StoreFuture<'a, Vec<Option<EventLog>>> {
        async move {
            let mut transaction = self.look().await?;
            let found = read::event_logs::<D>(&mut transaction, turns).await?;
            transaction.commit().await?;
            Ok(found)
        }
        .boxed()
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        async move {
            let mut transaction = self.write().await?;
            write::acknowledge::<D>(&mut transaction, turn, index).await?;
            self.done(transaction, &turn.thread).await
        }
        .boxed()
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        ready(Ok(self.database.wakers().subscribe(thread))).boxed()
    }
}
