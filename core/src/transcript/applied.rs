//! The effect of an event on the conversation.

use serde::{Deserialize, Serialize};

/// A part of the conversation that deltas append to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Item {
    /// The text of the message at this position.
    Text(usize),
    /// The reasoning of the message at this position.
    Reasoning(usize),
    /// The arguments of a call: the message's position, and the call's position in it.
    Arguments(usize, usize),
}

impl Item {
    pub(super) fn message(self) -> usize {
        match self {
            Self::Text(at) | Self::Reasoning(at) | Self::Arguments(at, _) => at,
        }
    }
}

/// The effect of an event on the conversation.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Applied {
    /// The event appended to an item the bytes from `from` on.
    Delta {
        /// The item.
        item: Item,
        /// The item's length before.
        from: usize,
    },
    /// The event did its work.
    Whole,
    /// The event did nothing, for this reason.
    Ignored(String),
}
