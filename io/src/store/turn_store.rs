//! What an agent needs of a store.

use super::inbox::{Inbox, LocalInbox};
use super::leases::{LeaseKey, Leases};
use super::record::{
    Claimed, Generation, NewTurn, PersistBatch, RESTING, ThreadRecord, TurnKey, Unfinished,
};
use super::{StoreFuture, check};
use std::fmt::Debug;
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;

/// Stores turns with their blocks and checkpoints, and who owns them: all that an agent needs of a store.
///
/// Each method is one transaction: it is committed completely or not at all, also if its future is dropped, and what it
/// has reported as done survives the process. Any method may also fail with an error of the store itself:
/// [`Unavailable`](super::StoreError::Unavailable), [`Full`](super::StoreError::Full),
/// [`ReadOnly`](super::StoreError::ReadOnly), [`TooNew`](super::StoreError::TooNew),
/// [`Damaged`](super::StoreError::Damaged), or [`Other`](super::StoreError::Other).
///
/// Names and texts that no store takes are [`Refused`](super::StoreError::Refused): [`check`] has these refusals.
pub trait TurnStore: Debug + Send + Sync + 'static {
    /// Begins a turn, and its thread if that is new. The caller owns the turn. Its status is
    /// [`Streaming`](stepwell_core::run::TurnStatus::Streaming).
    ///
    /// # Errors
    /// [`Busy`](super::StoreError::Busy) if another turn of the thread is unfinished,
    /// [`Exists`](super::StoreError::Exists) if the thread has a turn of this id, [`NoTurn`](super::StoreError::NoTurn)
    /// if there is no such parent.
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation>;

    /// Makes `owner` the owner of an unfinished turn, if its generation is still `seen`: compare-and-swap. Returns the
    /// new generation, and the checkpoint from which the turn continues.
    ///
    /// # Errors
    /// [`Stale`](super::StoreError::Stale) if another owner claimed it first, [`Closed`](super::StoreError::Closed) if
    /// it has ended, [`NoTurn`](super::StoreError::NoTurn).
    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed>;

    /// Stores blocks, status, outcome, checkpoint and events. The blocks are numbered from `batch.first` on. Blocks
    /// that are stored already must be the same, and change nothing: if it is not known whether a batch was stored, it
    /// may be sent again, alone or as a part of a longer batch. The newer checkpoint replaces the older; a turn that is
    /// closed keeps none. A batch that ends before what is stored is an earlier one that arrives late: it changes
    /// nothing. A store without [event logs](super::EventStore) is given no events: only a server writes
    /// them.
    ///
    /// # Errors
    /// [`Stale`](super::StoreError::Stale) if the turn has another owner by now, [`Gap`](super::StoreError::Gap) if
    /// blocks are missing before the first, [`Conflict`](super::StoreError::Conflict) if one is stored with another
    /// content, [`Closed`](super::StoreError::Closed) if the turn has ended otherwise,
    /// [`NoTurn`](super::StoreError::NoTurn).
    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()>;

    /// Returns the turns that have not ended, oldest first: all, or those of `owner`.
    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>>;

    /// Renews a lease of an owner for a term from now on: until then its turns are no [orphans](Self::orphans). The
    /// term is measured by the store's clock. A [`Lease`](super::Lease) calls this at intervals, from before its owner begins or
    /// claims a turn.
    ///
    /// The default is for a store that a single process uses: leases are kept in the process.
    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        let renewed = check::owner(&key.owner).map(|()| Leases::here().renew(key, term));
        Box::pin(std::future::ready(renewed))
    }

    /// Ends a lease of an owner that writes no more. A lease that is unknown, or has ended, changes nothing.
    ///
    /// The default is for a store that a single process uses.
    fn end_lease<'a>(&'a self, key: &'a LeaseKey) -> StoreFuture<'a, ()> {
        Leases::here().end(key);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the turns that have not ended and whose owners hold no [lease](Self::renew_lease), oldest first, without
    /// those that [rest](RESTING).
    ///
    /// The default is for a store that a single process uses.
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

    /// Returns a turn with its blocks, as of one moment; `None` if there is none.
    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>>;

    /// Returns the turns from the root of the tree to this turn, oldest first: the conversation as of this turn. All
    /// are read as of one moment.
    ///
    /// # Errors
    /// [`NoTurn`](super::StoreError::NoTurn).
    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>>;

    /// Returns a thread, with its latest and its unfinished turn as of one moment; `None` if there is none.
    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>>;

    /// Deletes a thread with all that it holds. Returns whether there was one. The owner of an unfinished turn of it
    /// gets [`NoTurn`](super::StoreError::NoTurn) at its next write.
    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool>;

    /// Checks that the store can be reached and written, as far as that can be known without writing. By default it
    /// reports no error.
    ///
    /// # Errors
    /// [`Unavailable`](super::StoreError::Unavailable), [`ReadOnly`](super::StoreError::ReadOnly), or
    /// [`Damaged`](super::StoreError::Damaged).
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}
