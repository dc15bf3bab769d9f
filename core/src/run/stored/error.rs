use crate::{MessageId, RunId};

/// The errors in the stored turns of a thread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum SessionError {
    /// Two turns have one id.
    #[error("there are two turns `{turn}`: give each turn an id of its own")]
    DuplicateTurn {
        /// The id.
        turn: RunId,
    },
    /// A turn continues one that is missing.
    #[error("the turn `{turn}` goes on from `{parent}`, which is not there: load the whole thread")]
    MissingParent {
        /// The turn.
        turn: RunId,
        /// The turn that it continues.
        parent: RunId,
    },
    /// A turn continues itself, directly or through others.
    #[error("the turn `{turn}` goes on from itself: the stored thread is damaged")]
    Cycle {
        /// A turn of the cycle, or one after it.
        turn: RunId,
    },
    /// There is no such turn.
    #[error("there is no turn `{turn}` in this thread")]
    UnknownTurn {
        /// The id.
        turn: RunId,
    },
    /// The turns do not form a path: each must continue the one before it.
    #[error(
        "the turn `{turn}` does not go on from the one before it: give the turns of one path, oldest first"
    )]
    NotAPath {
        /// The first turn that is out of place.
        turn: RunId,
    },
    /// The blocks of a turn are not 0, 1, 2 …
    #[error(
        "the turn `{turn}` has a block {found} where {expected} should be: load all of its blocks, in their order"
    )]
    SequenceGap {
        /// The turn.
        turn: RunId,
        /// The number that should be there.
        expected: u64,
        /// The number that is.
        found: u64,
    },
    /// A block speaks of a message that is not there.
    #[error(
        "block {sequence} of the turn `{turn}` goes on behind the message `{message}`, which is not there: load the \
         whole path"
    )]
    UnknownMessage {
        /// The turn.
        turn: RunId,
        /// The block.
        sequence: u64,
        /// The message.
        message: MessageId,
    },
}
