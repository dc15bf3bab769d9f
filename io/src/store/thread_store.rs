//! What a list of conversations needs of a store.

use super::StoreFuture;
use super::record::{ThreadQuery, ThreadRecord, TurnKey, TurnOutline};
use super::turn_store::TurnStore;
use futures::FutureExt;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;

/// Lists the threads of a store, renames them, and reads the tree of their turns: what an app shows of its users'
/// conversations.
///
/// Each method is one transaction, with the errors of the store itself, as those of [`TurnStore`] are.
pub trait ThreadStore: TurnStore {
    /// Returns threads, the last used first, then by key. Pages are read one after the other: a thread that is used
    /// between two pages may be on both, or on none.
    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>>;

    /// Sets the title of a thread. This does not count as use.
    ///
    /// # Errors
    /// [`NoThread`](super::StoreError::NoThread).
    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()>;

    /// Returns all turns of a thread, in the order in which they began, as of one moment; none if there is no such
    /// thread.
    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>>;

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

    /// Returns the end of the [path](TurnStore::path) to this turn: `limit` turns at most, and one at least. By default
    /// the store reads the complete path.
    ///
    /// # Errors
    /// [`NoTurn`](super::StoreError::NoTurn).
    fn path_end<'a>(&'a self, turn: &'a TurnKey, limit: usize) -> StoreFuture<'a, Vec<Turn>> {
        async move {
            let mut path = self.path(turn).await?;
            Ok(path.split_off(path.len().saturating_sub(limit.max(1))))
        }
        .boxed()
    }
}
