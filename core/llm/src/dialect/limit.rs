//! How much of an answer is held.

/// A limit that an answer has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerLimit {
    /// `AnswerLimits::bytes`, or as much of one thing as is held until it is
    /// whole: of citations, of reasoning that only the provider can read, of items that are open.
    #[error("the answer went beyond its limit of {max} bytes, and was stopped")]
    Bytes {
        /// How many it may bring.
        max: u64,
    },
    /// `AnswerLimits::calls`.
    #[error("the answer went beyond its limit of {max} tool calls, and was stopped")]
    Calls {
        /// How many it may leave without a result.
        max: u32,
    },
}

/// What an item takes beside what it says, in bytes: its ids, and its places in the conversation and in the order of
/// events.
pub const ITEM: u64 = 256;

impl AnswerLimit {
    /// So many bytes of one thing that is held.
    pub(super) fn held(bytes: usize) -> Self {
        Self::Bytes {
            max: u64::try_from(bytes).unwrap_or(u64::MAX),
        }
    }

    /// So many items that are open at once.
    pub(super) fn open(items: usize) -> Self {
        let items = u64::try_from(items).unwrap_or(u64::MAX);
        Self::Bytes {
            max: items.saturating_mul(ITEM),
        }
    }
}
