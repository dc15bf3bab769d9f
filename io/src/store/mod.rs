//! The stores of turns: [`Store`], and the stores that come with Stepwell.
//!
//! A store holds threads; a thread holds a tree of turns; a turn holds its blocks in sequence, its status, the
//! checkpoint from which it can be revived, and the log of what the user was shown. A turn is written by one owner at a
//! time:
//!
//! 1. [`begin_turn`](Store::begin_turn) before anything is sent to the model. A thread has at most one unfinished turn:
//!    if two hosts begin one at the same time, one host wins, and the other gets [`StoreError::Busy`].
//! 2. [`persist`](Store::persist) for each write of the machine
//!    ([`Effect::Persist`](stepwell_core::run::Effect::Persist)): blocks, status and checkpoint in one transaction.
//!    With its last write the turn is closed, once.
//! 3. [`claim`](Store::claim) to continue a turn whose owner died, or to take the turn from an owner that is alive. A
//!    claim raises the turn's [`Generation`] in the database; after that the writes of the former owner are refused with
//!    [`StoreError::Stale`], so no lease and no clock is needed to keep two owners apart.
//!
//! An owner of turns holds a [`Lease`], which it renews while it is alive. The turns of owners whose leases have
//! expired are [orphans](Store::orphans), which any host may claim. A lease only says where a claim is worth trying:
//! only the generation keeps two owners apart.
//!
//! A host sends a command for a turn of another owner to the owner's [inbox](Store::inbox).
//!
//! Readers need no ownership: [`events`](Store::events) returns what the user was shown, from any index on, and
//! [`subscribe`](Store::subscribe) wakes when there may be more, also for turns of other hosts on the same database. To
//! follow a turn without gap or repeat: subscribe first, then read from the last index until no event comes, then wait
//! for [`Changes::changed`], and so on.
//!
//! | store | for |
//! |---|---|
//! | [`MemoryStore`] | tests, and apps that keep nothing |
#![cfg_attr(
    feature = "sqlite",
    doc = "| [`SqliteStore`] | an app, or a server whose processes share a file |"
)]
#![cfg_attr(
    feature = "postgres",
    doc = "| [`PostgresStore`] | several hosts on one database |"
)]
//!
//! An app with its own database implements [`Store`]. `store_contract!` of the feature `testing` tests any store
//! against the rules in the comments of the trait's methods, and [`check`] has the refusals that all stores share. A
//! store that only changes some behaviour of another store implements [`StoreLayer`].

pub mod check;
#[cfg(feature = "testing")]
pub mod contract;
mod error;
mod inbox;
mod layer;
mod lease;
mod leases;
mod memory;
mod process;
mod record;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;
mod wake;

pub use crate::pending::pending;
pub use error::{StoreError, StoreFuture};
pub use inbox::Inbox;
pub use layer::StoreLayer;
pub(crate) use lease::LEASE_TERM;
pub use lease::Lease;
pub use leases::LeaseKey;
pub use memory::MemoryStore;
pub use record::{
    Claimed, EventLog, Generation, LoggedEvent, NewTurn, PersistBatch, RESTING, SentCommand,
    ThreadCursor, ThreadQuery, ThreadRecord, TurnKey, TurnOutline, Unfinished,
};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use sql::SqlStore;
#[cfg(feature = "postgres")]
pub use sql::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sql::{SqliteOptions, SqliteStore, SqliteSync};
pub use wake::{Changes, Wakers};

use futures::FutureExt;
use inbox::LocalInbox;
use leases::Leases;
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;

/// Stores threads, turns and their blocks.
///
/// Each method is one transaction: it is committed completely or not at all, also if its future is dropped, and what it
/// has reported as done survives the process.
pub trait Store: Debug + Send + Sync + 'static {
    /// Begins a turn, and its thread if that is new. The caller owns the turn. Its status is
    /// [`Streaming`](stepwell_core::run::TurnStatus::Streaming).
    ///
    /// # Errors
    /// [`Busy`](StoreError::Busy) if another turn of the thread is unfinished, [`Exists`](StoreError::Exists) if the
    /// thread has a turn of this id, [`NoTurn`](StoreError::NoTurn) if there is no such parent.
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation>;

    /// Makes `owner` the owner of an unfinished turn, if its generation is still `seen`: compare-and-swap. Returns the
    /// new generation, and the checkpoint from which the turn continues.
    ///
    /// # Errors
    /// [`Stale`](StoreError::Stale) if another owner claimed it first, [`Closed`](StoreError::Closed) if it has ended,
    /// [`NoTurn`](StoreError::NoTurn).
    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed>;

    /// Stores blocks, status, outcome, checkpoint and events. The blocks are numbered from `batch.first` on. Blocks
    /// that are stored already must be the same, and change nothing: if it is not known whether a batch was stored, it
    /// may be sent again, alone or as a part of a longer batch. The newer checkpoint replaces the older; a turn that is
    /// closed keeps none.
    ///
    /// # Errors
    /// [`Stale`](StoreError::Stale) if the turn has another owner by now, [`Gap`](StoreError::Gap) if blocks are missing
    /// before the first, [`Conflict`](StoreError::Conflict) if one is stored with another content,
    /// [`Closed`](StoreError::Closed) if the turn has ended otherwise, [`NoTurn`](StoreError::NoTurn).
    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()>;

    /// Returns the turns that have not ended, oldest first: all, or those of `owner`.
    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>>;

    /// Renews a lease of an owner for a term from now on: until then its turns are no [orphans](Self::orphans). The
    /// term is measured by the store's clock. A [`Lease`] calls this at intervals, from before its owner begins or
    /// claims a turn.
    ///
    /// The default is for a store that a single process uses: leases are kept in the process.
    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        let renewed = check::owner(&key.owner).map(|()| Leases::here().renew(key, term));
        Box::pin(std::future::ready(renewed))
    }

    /// Ends a lease of an owner that writes no more.
    fn end_lease<'a>(&'a self, key: &'a LeaseKey) -> StoreFuture<'a, ()> {
        Leases::here().end(key);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the turns that have not ended and whose owners hold no [lease](Self::renew_lease), oldest first, without
    /// those that [rest](RESTING).
    fn orphans(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        Box::pin(async move {
            let mut orphans = self.unfinished(None).await?;
            orphans
                .retain(|turn| turn.owner != RESTING && !Leases::here().are_held_by(&turn.owner));
            Ok(orphans)
        })
    }

    /// Returns the commands that the owners of turns send each other.
    ///
    /// The default is for a store that a single process uses: commands are kept in the process.
    fn inbox(&self) -> &dyn Inbox {
        LocalInbox::here()
    }

    /// Returns a turn with its blocks; `None` if there is none.
    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>>;

    /// Returns the turns from the root of the tree to this turn, oldest first: the conversation as of this turn.
    ///
    /// # Errors
    /// [`NoTurn`](StoreError::NoTurn).
    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>>;

    /// Returns the end of the [path](Self::path) to this turn: `limit` turns at most, and one at least. By default the
    /// store reads the complete path.
    ///
    /// # Errors
    /// [`NoTurn`](StoreError::NoTurn).
    fn path_end<'a>(&'a self, turn: &'a TurnKey, limit: usize) -> StoreFuture<'a, Vec<Turn>> {
        async move {
            let mut path = self.path(turn).await?;
            Ok(path.split_off(path.len().saturating_sub(limit.max(1))))
        }
        .boxed()
    }

    /// Returns the tree of a thread's turns, in the order in which they began; empty if there is no such thread. By
    /// default the store reads the complete turns.
    fn outline<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<TurnOutline>> {
        async move {
            let turns = self.turns(thread).await?.into_iter();
            let outlines = turns.map(|turn| TurnOutline {
                id: turn.id,
                parent: turn.parent,
                created_at: turn.created_at,
            });
            Ok(outlines.collect())
        }
        .boxed()
    }

    /// Returns all turns of a thread, in the order in which they began; none if there is no such thread.
    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>>;

    /// Returns a thread; `None` if there is none.
    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>>;

    /// Returns threads, the last used first, then by key.
    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>>;

    /// Sets the title of a thread. This does not count as use.
    ///
    /// # Errors
    /// [`NoThread`](StoreError::NoThread).
    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()>;

    /// Deletes a thread with all that it holds. Returns whether there was one. The owner of an unfinished turn of it
    /// gets [`NoTurn`](StoreError::NoTurn) at its next write.
    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool>;

    /// Appends to the log of what the user is shown of a turn; the first of `events` gets the index `first`. As with
    /// blocks, events that are stored already must be the same, and change nothing. The owner may still append when the
    /// turn is closed: its last event reports the end.
    ///
    /// # Errors
    /// [`Stale`](StoreError::Stale), [`Gap`](StoreError::Gap), [`Conflict`](StoreError::Conflict),
    /// [`NoTurn`](StoreError::NoTurn).
    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()>;

    /// Returns what was shown of a turn after the event `after`, or from the beginning: `limit` events at most.
    ///
    /// # Errors
    /// [`NoTurn`](StoreError::NoTurn).
    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>>;

    /// Returns events, as [`events`](Self::events) does, with `bytes` at most in total, but always the next event,
    /// however long it is. By default the store reads one event at a time.
    ///
    /// # Errors
    /// [`NoTurn`](StoreError::NoTurn).
    fn events_within<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
        _bytes: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.events(turn, after, limit.min(1))
    }

    /// Checks that the store can be reached and written, as far as that can be known without writing. By default it
    /// reports no error.
    ///
    /// # Errors
    /// [`Unavailable`](StoreError::Unavailable), [`ReadOnly`](StoreError::ReadOnly), or
    /// [`Damaged`](StoreError::Damaged).
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the length of a turn's log, and how much of it was acknowledged.
    ///
    /// # Errors
    /// [`NoTurn`](StoreError::NoTurn).
    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog>;

    /// Drops the logs of turns that have ended, by the time of their last write, except the last event of each: it
    /// keeps its index, and shows a reader how the turn ended. Returns how many logs were dropped: `limit` at most. By
    /// default the store keeps them.
    fn drop_logs(&self, _ended: Range<Timestamp>, _limit: usize) -> StoreFuture<'_, usize> {
        Box::pin(std::future::ready(Ok(0)))
    }

    /// Returns the logs of several turns, in the order of `turns`; `None` for a turn that does not exist. A list of
    /// threads needs many at once: a store should answer in one query if it can.
    fn event_logs<'a>(&'a self, turns: &'a [TurnKey]) -> StoreFuture<'a, Vec<Option<EventLog>>> {
        async move {
            let mut logs = Vec::with_capacity(turns.len());
            for turn in turns {
                logs.push(match self.event_log(turn).await {
                    Ok(log) => Some(log),
                    Err(StoreError::NoTurn { .. }) => None,
                    Err(error) => return Err(error),
                });
            }
            Ok(logs)
        }
        .boxed()
    }

    /// Records that the user has seen the events up to and including `index`. A lower index changes nothing.
    ///
    /// # Errors
    /// [`Gap`](StoreError::Gap) if there is no such event: what was shown must be in the log before.
    /// [`NoTurn`](StoreError::NoTurn).
    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()>;

    /// Wakes when a thread may have changed: a turn began, was claimed, has new blocks or events, or ended; the thread
    /// was renamed or deleted. The thread need not exist yet.
    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes>;
}
