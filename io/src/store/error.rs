use super::record::Generation;
use futures::future::BoxFuture;
use stepwell_core::RunId;
use stepwell_core::registry::ThreadKey;

/// The result of a method of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Why a store refused a request, or failed. Nothing has changed, unless the error says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The turn has another owner by now: the writer must stop, and leave the turn alone.
    #[error(
        "the turn `{turn}` has generation {current} by now, and the writer has {given}: another host continues it"
    )]
    Stale {
        /// The turn.
        turn: RunId,
        /// The writer's generation.
        given: Generation,
        /// The owner's generation.
        current: Generation,
    },
    /// The thread has an unfinished turn: claim and end that turn first.
    #[error(
        "the thread has an unfinished turn, `{turn}`, which `{owner}` has: it must end before another begins"
    )]
    Busy {
        /// The unfinished turn.
        turn: RunId,
        /// Its generation, to claim it with.
        generation: Generation,
        /// Its owner.
        owner: String,
    },
    /// The thread has a turn of this id.
    #[error("the thread has a turn `{turn}` already: give each turn an id of its own")]
    Exists {
        /// The turn.
        turn: RunId,
    },
    /// The turn has ended.
    #[error("the turn `{turn}` has ended: nothing can be added")]
    Closed {
        /// The turn.
        turn: RunId,
    },
    /// Blocks or events before it are missing.
    #[error("number {given} of the turn `{turn}` is beyond what is stored: the next is {next}")]
    Gap {
        /// The turn.
        turn: RunId,
        /// The number of the block or event.
        given: u64,
        /// The number that would follow.
        next: u64,
    },
    /// The number is stored with another content.
    #[error("number {number} of the turn `{turn}` is stored with another content, which stays")]
    Conflict {
        /// The turn.
        turn: RunId,
        /// The number of the block or event.
        number: u64,
    },
    /// There is no such turn.
    #[error("the store has no turn `{turn}` in this thread")]
    NoTurn {
        /// The turn.
        turn: RunId,
    },
    /// There is no such thread.
    #[error("the store has no thread `{thread}`")]
    NoThread {
        /// The thread.
        thread: ThreadKey,
    },
    /// The request itself cannot be stored.
    #[error("this cannot be stored: {message}")]
    Refused {
        /// The reason.
        message: String,
    },
    /// The store is full.
    #[error("the store is full: {message}; make room")]
    Full {
        /// The store's message.
        message: String,
    },
    /// The store is read-only.
    #[error("the store can be read but not written: {message}; check the rights and the disk")]
    ReadOnly {
        /// The store's message.
        message: String,
    },
    /// The store cannot be reached, or is locked by another program. If the connection broke during a write, the write
    /// may have been done.
    #[error("the store cannot be reached: {message}")]
    Unavailable {
        /// The store's message.
        message: String,
    },
    /// The store was written by a later version of this program.
    #[error("the store is of a later version: {message}; update this program")]
    TooNew {
        /// The store's message.
        message: String,
    },
    /// The content of the store cannot be read.
    #[error("the store is damaged: {message}")]
    Damaged {
        /// The damage, and its place.
        message: String,
    },
    /// The store failed for another reason.
    #[error("the store failed: {message}")]
    Other {
        /// The store's message.
        message: String,
    },
}

impl StoreError {
    /// Returns whether the same request may succeed later: nothing is wrong with it.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Full { .. } | Self::Unavailable { .. } | Self::Other { .. }
        )
    }

    /// Returns whether the writer has lost the turn: it has another owner, has ended, or was deleted.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(
            self,
            Self::Stale { .. } | Self::Closed { .. } | Self::NoTurn { .. }
        )
    }
}
