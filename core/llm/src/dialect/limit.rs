//! Limits of how much of an answer is held in memory.

/// A limit that an answer has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerLimit {
    /// The answer has too many bytes in total, or too many that must be held until an item is complete, such as
    /// citations or encrypted reasoning.
    #[error("the answer went beyond its limit of {max} bytes, and was stopped")]
    Bytes {
        /// The maximum number of bytes.
        max: u64,
    },
    /// The answer has too many tool calls.
    #[error("the answer went beyond its limit of {max} tool calls, and was stopped")]
    Calls {
        /// The maximum number of calls without a result.
        max: u32,
    },
}

/// The overhead of an item in addition to its content, in bytes: its ids, and its entries in the conversation and in
/// the order of events.
pub const ITEM: u64 = 256;

impl AnswerLimit {
    /// Creates the error for too many bytes of one item that is held.
    pub(super) fn held(bytes: usize) -> Self {
        Self::Bytes {
            max: u64::try_from(bytes).unwrap_or(u64::MAX),
        }
    }

    /// Creates the error for too many items that are open at once.
    pub(super) fn open(items: usize) -> Self {
        let items = u64::try_from(items).unwrap_or(u64::MAX);
        Self::Bytes {
            max: items.saturating_mul(ITEM),
        }
    }
}
