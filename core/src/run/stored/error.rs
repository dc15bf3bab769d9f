use crate::{MessageId, RunId};

/// What is wrong with the stored turns of a thread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum SessionError {
    /// Two turns have one id.
    #[error("there are two turns `{turn}`: give each turn an id of its own")]
    DuplicateTurn {
        /// The id.
        turn: RunId,
    },
    /// A turn goes on from one that is not there.
    #[error("the turn `{turn}` goes on from `{parent}`, which is not there: load the whole thread")]
    MissingParent {
        /// The turn.
        turn: RunId,
        /// What it goes on from.
        parent: RunId,
    },
    /// A turn goes on from itself, by way of others or not.
    #[error("the turn `{turn}` goes on from itself: the stored thread is damaged")]
    Cycle {
        /// One of the turns of the circle, or behind it.
        turn: RunId,
    },
    /// There is no such turn.
    #[error("there is no turn `{turn}` in this thread")]
    UnknownTurn {
        /// The id.
        turn: RunId,
    },
    /// The turns are no path: each must go on from the one before it.
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
