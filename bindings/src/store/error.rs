use crate::error::StepwellError;
use crate::thread_key::ThreadKey;
use stepwell_io::store;
use stepwell_io::store::Generation;
use uniffi::UnexpectedUniFFICallbackError;

/// Why a store refused a request or failed. Unless an error says otherwise, nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
pub enum StoreError {
    /// The turn has another owner by now: the writer should stop, and leave the turn alone.
    #[error("the turn `{turn}` is of generation {current} by now, and the writer is of {given}")]
    Stale {
        /// The turn.
        turn: String,
        /// The writer's generation.
        given: u64,
        /// The owner's generation.
        current: u64,
    },
    /// The thread has an unfinished turn, which must end before another begins.
    #[error("the thread has an unfinished turn, `{turn}`, which `{owner}` has")]
    Busy {
        /// The unfinished turn.
        turn: String,
        /// Its generation.
        generation: u64,
        /// The owner of the turn.
        owner: String,
    },
    /// The thread has a turn of this id.
    #[error("the thread has a turn `{turn}` already")]
    Exists {
        /// The turn.
        turn: String,
    },
    /// The turn is over, and its end is final.
    #[error("the turn `{turn}` has ended: nothing can be added")]
    Closed {
        /// The turn.
        turn: String,
    },
    /// Blocks or events before this one are missing.
    #[error("number {given} of the turn `{turn}` is beyond what is stored: the next is {next}")]
    Gap {
        /// The turn.
        turn: String,
        /// The number of the block or event.
        given: u64,
        /// The number that would follow.
        next: u64,
    },
    /// The number belongs to another content.
    #[error("number {number} of the turn `{turn}` is stored with another content, which stays")]
    Conflict {
        /// The turn.
        turn: String,
        /// The number of the block or event.
        number: u64,
    },
    /// There is no such turn.
    #[error("the store has no turn `{turn}` in this thread")]
    NoTurn {
        /// The turn.
        turn: String,
    },
    /// There is no such thread.
    #[error("the store has no thread `{}`", thread.thread)]
    NoThread {
        /// The thread.
        thread: ThreadKey,
    },
    /// The request itself cannot be stored.
    #[error("this cannot be stored: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// There is no room left. The call is retried.
    #[error("the store is full: {reason}")]
    Full {
        /// The store's words.
        reason: String,
    },
    /// The store is read-only.
    #[error("the store can be read but not written: {reason}")]
    ReadOnly {
        /// The store's words.
        reason: String,
    },
    /// The store cannot be reached, or is locked by another program. The call is retried; the write may have been done.
    #[error("the store cannot be reached: {reason}")]
    Unavailable {
        /// The store's words.
        reason: String,
    },
    /// The store was made by a later version of this program.
    #[error("the store is of a later version: {reason}")]
    TooNew {
        /// The store's words.
        reason: String,
    },
    /// The store's data cannot be read.
    #[error("the store is damaged: {reason}")]
    Damaged {
        /// What is wrong, and where.
        reason: String,
    },
    /// Another failure of the store: an exception that it does not declare, say. The call is retried.
    #[error("the store failed: {reason}")]
    Other {
        /// The store's words.
        reason: String,
    },
}

impl From<UnexpectedUniFFICallbackError> for StoreError {
    fn from(error: UnexpectedUniFFICallbackError) -> Self {
        Self::Other {
            reason: error.reason,
        }
    }
}

impl From<StoreError> for store::StoreError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stale {
                turn,
                given,
                current,
            } => Self::Stale {
                turn: turn.into(),
                given: Generation(given),
                current: Generation(current),
            },
            StoreError::Busy {
                turn,
                generation,
                owner,
            } => Self::Busy {
                turn: turn.into(),
                generation: Generation(generation),
                owner,
            },
            StoreError::Exists { turn } => Self::Exists { turn: turn.into() },
            StoreError::Closed { turn } => Self::Closed { turn: turn.into() },
            StoreError::Gap { turn, given, next } => Self::Gap {
                turn: turn.into(),
                given,
                next,
            },
            StoreError::Conflict { turn, number } => Self::Conflict {
                turn: turn.into(),
                number,
            },
            StoreError::NoTurn { turn } => Self::NoTurn { turn: turn.into() },
            StoreError::NoThread { thread } => Self::NoThread {
                thread: thread.into(),
            },
            StoreError::Refused { reason } => Self::Refused { message: reason },
            StoreError::Full { reason } => Self::Full { message: reason },
            StoreError::ReadOnly { reason } => Self::ReadOnly { message: reason },
            StoreError::Unavailable { reason } => Self::Unavailable { message: reason },
            StoreError::TooNew { reason } => Self::TooNew { message: reason },
            StoreError::Damaged { reason } => Self::Damaged { message: reason },
            StoreError::Other { reason } => Self::Other { message: reason },
        }
    }
}

impl From<store::StoreError> for StoreError {
    fn from(error: store::StoreError) -> Self {
        use store::StoreError as Core;
        match error {
            Core::Stale {
                turn,
                given,
                current,
            } => Self::Stale {
                turn: turn.into_string(),
                given: given.0,
                current: current.0,
            },
            Core::Busy {
                turn,
                generation,
                owner,
            } => Self::Busy {
                turn: turn.into_string(),
                generation: generation.0,
                owner,
            },
            Core::Exists { turn } => Self::Exists {
                turn: turn.into_string(),
            },
            Core::Closed { turn } => Self::Closed {
                turn: turn.into_string(),
            },
            Core::Gap { turn, given, next } => Self::Gap {
                turn: turn.into_string(),
                given,
                next,
            },
            Core::Conflict { turn, number } => Self::Conflict {
                turn: turn.into_string(),
                number,
            },
            Core::NoTurn { turn } => Self::NoTurn {
                turn: turn.into_string(),
            },
            Core::NoThread { thread } => Self::NoThread {
                thread: thread.into(),
            },
            Core::Refused { message } => Self::Refused { reason: message },
            Core::Full { message } => Self::Full { reason: message },
            Core::ReadOnly { message } => Self::ReadOnly { reason: message },
            Core::Unavailable { message } => Self::Unavailable { reason: message },
            Core::TooNew { message } => Self::TooNew { reason: message },
            Core::Damaged { message } => Self::Damaged { reason: message },
            Core::Other { message } => Self::Other { reason: message },
            other => Self::Other {
                reason: other.to_string(),
            },
        }
    }
}

/// Converts the error for a call of an agent or of a `SessionStore`.
impl From<store::StoreError> for StepwellError {
    fn from(error: store::StoreError) -> Self {
        use store::StoreError as Core;
        let advice = match &error {
            Core::NoTurn { .. } | Core::NoThread { .. } => {
                "look at what the store has: it may have been deleted meanwhile"
            }
            Core::Full { .. } => "make room, and try again",
            Core::ReadOnly { .. } => "check the rights and the disk",
            Core::Unavailable { .. } | Core::Other { .. } => "try again",
            Core::TooNew { .. } => "update the app",
            Core::Damaged { .. } => "restore the store from a copy, or delete what is damaged",
            Core::Refused { .. } => "give names and texts that can be stored",
            _ => "look at the turn in the store, and go on from what it has",
        };
        Self::Store {
            reason: error.to_string(),
            advice: advice.to_owned(),
        }
    }
}
