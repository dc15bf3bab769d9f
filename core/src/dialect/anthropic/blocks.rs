use super::super::DecodeError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most blocks that may be open at once.
const MOST_OPEN: usize = 1024;

/// A block that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Block {
    Text,
    Thinking,
    /// A call, by its slot in the answer. `input` is what its start had, which counts if no delta comes.
    Call {
        slot: usize,
        input: Option<String>,
    },
    /// A tool that the provider runs, with the input's text so far.
    ServerTool {
        block: Value,
        input: String,
    },
    /// Nothing more is read of it.
    Passed,
}

/// The open blocks by the peer's index: a key, never a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Blocks(Vec<(u64, Block)>);

impl Blocks {
    /// Makes sure that one more may open.
    pub(super) fn check_room(&self) -> Result<(), DecodeError> {
        if self.0.len() >= MOST_OPEN {
            return Err(DecodeError::TooMany {
                what: "open blocks",
                limit: MOST_OPEN,
            });
        }
        Ok(())
    }

    pub(super) fn open(&mut self, index: u64, block: Block) {
        self.0.push((index, block));
    }

    #[inline]
    pub(super) fn find(&mut self, index: u64) -> Option<&mut Block> {
        let mut newest_first = self.0.iter_mut().rev();
        newest_first
            .find(|(known, _)| *known == index)
            .map(|(_, block)| block)
    }

    pub(super) fn close(&mut self, index: u64) -> Option<Block> {
        let at = self.0.iter().rposition(|(known, _)| *known == index)?;
        Some(self.0.remove(at).1)
    }

    /// All that are open, in the order of their beginning.
    pub(super) fn close_all(&mut self) -> Vec<Block> {
        let open = std::mem::take(&mut self.0);
        open.into_iter().map(|(_, block)| block).collect()
    }
}
