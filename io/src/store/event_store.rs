//! What a server needs of a store: the event logs of turns.

use super::record::{EventLog, Generation, LoggedEvent, TurnKey};
use super::turn_store::TurnStore;
use super::wake::Changes;
use super::{StoreError, StoreFuture};
use futures::FutureExt;
use std::ops::Range;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;

/// Stores the log of what clients were shown of each turn, so that a client that was cut off reads on from where it was,
/// on any host.
///
/// Each method is one transaction, with the errors of the store itself, as those of [`TurnStore`] are. A store with event
/// logs also stores the events of a [`PersistBatch`](super::PersistBatch), in the transaction of
/// [`persist`](TurnStore::persist).
pub trait EventStore: TurnStore {
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

    /// Returns what was shown of a turn after the event `after`, or from the beginning: `limit` events at most. Events that
    /// were [dropped](Self::drop_logs) are left out.
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

    /// Returns the length of a turn's log, and how much of it was acknowledged.
    ///
    /// # Errors
    /// [`NoTurn`](StoreError::NoTurn).
    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog>;

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

    /// Drops the logs of turns that have ended, by the time of their last write, except the last event of each: it
    /// keeps its index, and shows a reader how the turn ended. Returns how many logs were dropped: `limit` at most. Each log
    /// is dropped completely or not at all. By default the store keeps them.
    fn drop_logs(&self, _ended: Range<Timestamp>, _limit: usize) -> StoreFuture<'_, usize> {
        Box::pin(std::future::ready(Ok(0)))
    }

    /// Wakes when a thread may have changed: a turn began, was claimed, has new blocks or events, or ended; the thread
    /// was renamed or deleted. The thread need not exist yet.
    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes>;
}
