use super::record::Generation;
use futures::future::BoxFuture;
use stepwell_core::RunId;
use stepwell_core::registry::ThreadKey;

/// The result of a method of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Why a store did not do what it was asked to. Nothing has changed, unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The turn has another owner by now: the writer is to stop, and to leave the turn alone.
    #[error(
        "the turn `{turn}` is of generation {current} by now, and the writer is of {given}: another host goes on with it"
    )]
    Stale {
        /// The turn.
        turn: RunId,
        /// The writer's generation.
        given: Generation,
        /// The owner's.
        current: Generation,
    },
    /// The thread has an unfinished turn: claim that one and bring it to its end first.
    #[error(
        "the thread has an unfinished turn, `{turn}`, which `{owner}` has: it must end before another begins"
    )]
    Busy {
        /// The unfinished turn.
        turn: RunId,
        /// Its generation, to claim it with.
        generation: Generation,
        /// Who has it.
        owner: String,
    },
    /// The thread has a turn of this id.
    #[error("the thread has a turn `{turn}` already: give each turn an id of its own")]
    Exists {
        /// The turn.
        turn: RunId,
    },
    /// The turn has come to its end, which stands.
    #[error("the turn `{turn}` has ended: nothing can be added")]
    Closed {
        /// The turn.
        turn: RunId,
    },
    /// Something before it is missing.
    #[error("number {given} of the turn `{turn}` is beyond what is stored: the next is {next}")]
    Gap {
        /// The turn.
        turn: RunId,
        /// The number of the block or event.
        given: u64,
        /// The number that would follow.
        next: u64,
    },
    /// The number is taken by another content.
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
        /// Why.
        message: String,
    },
    /// There is no room left.
    #[error("the store is full: {message}; make room")]
    Full {
        /// The store's words.
        message: String,
    },
    /// It may be read only.
    #[error("the store can be read but not written: {message}; check the rights and the disk")]
    ReadOnly {
        /// The store's words.
        message: String,
    },
    /// It cannot be reached, or is locked by another program. If the connection broke in the middle, the write may have
    /// been done.
    #[error("the store cannot be reached: {message}")]
    Unavailable {
        /// The store's words.
        message: String,
    },
    /// It was made by a later version of this program.
    #[error("the store is of a later version: {message}; update this program")]
    TooNew {
        /// The store's words.
        message: String,
    },
    /// What it holds cannot be read.
    #[error("the store is damaged: {message}")]
    Damaged {
        /// What is wrong, and where.
        message: String,
    },
    /// Something else went wrong inside of it.
    #[error("the store failed: {message}")]
    Other {
        /// The store's words.
        message: String,
    },
}

impl StoreError {
    /// Whether the same request may do later: nothing is wrong with it.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Full { .. } | Self::Unavailable { .. } | Self::Other { .. }
        )
    }

    /// Whether the turn is not the writer's any more: it has another owner, has ended, or was deleted.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(
            self,
            Self::Stale { .. } | Self::Closed { .. } | Self::NoTurn { .. }
        )
    }
}
