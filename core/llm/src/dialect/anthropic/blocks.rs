use super::super::{AnswerLimit, DecodeError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum number of open blocks.
const MOST_OPEN: usize = 1024;

/// The maximum number of bytes of incomplete tool input that are held.
const MOST_HELD: usize = 32 * 1024 * 1024;

/// An open block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Block {
    Text,
    Thinking,
    /// A call, by its slot in the answer. `input` is the input from its start, which counts if no delta comes.
    Call {
        slot: usize,
        input: Option<String>,
    },
    /// A block for the provider only: a tool that it runs, with the input's text so far, or a mark of its own.
    ServerTool {
        block: Value,
        input: String,
    },
    /// The rest of the block is not read.
    Passed,
}

/// The open blocks by the peer's index: a key, never a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Blocks {
    open: Vec<Open>,
    /// The number of bytes that the blocks hold.
    held: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Open {
    index: Option<u64>,
    block: Block,
    /// The number of bytes that the block holds.
    held: usize,
}

impl Blocks {
    /// Checks that a block that holds `size` bytes may be opened.
    pub(super) fn check_room(&self, size: usize) -> Result<(), DecodeError> {
        if self.open.len() >= MOST_OPEN {
            return Err(AnswerLimit::open(MOST_OPEN).into());
        }
        self.check_size(size)
    }

    fn check_size(&self, size: usize) -> Result<(), DecodeError> {
        if self.held.saturating_add(size) > MOST_HELD {
            return Err(AnswerLimit::held(MOST_HELD).into());
        }
        Ok(())
    }

    /// Opens a block that holds `size` bytes.
    pub(super) fn open(&mut self, index: Option<u64>, block: Block, size: usize) {
        self.held += size;
        self.open.push(Open {
            index,
            block,
            held: size,
        });
    }

    /// The place of the open block with this index; without one, of the only block that is open.
    #[inline]
    fn at(&self, index: Option<u64>) -> Result<Option<usize>, DecodeError> {
        if index.is_some() {
            return Ok(self.open.iter().rposition(|open| open.index == index));
        }
        match self.open.len() {
            0 => Ok(None),
            1 => Ok(Some(0)),
            _ => Err(DecodeError::Unplaced {
                what: "an event of a content block",
                reason: "it has no index, and several blocks are open",
            }),
        }
    }

    #[inline]
    pub(super) fn find(&mut self, index: Option<u64>) -> Result<Option<&mut Block>, DecodeError> {
        let at = self.at(index)?;
        Ok(at.map(|at| &mut self.open[at].block))
    }

    /// Adds to the input of the provider's own tool with this index.
    pub(super) fn add_input(&mut self, index: Option<u64>, piece: &str) -> Result<(), DecodeError> {
        self.check_size(piece.len())?;
        if let Some(at) = self.at(index)?
            && let open = &mut self.open[at]
            && let Block::ServerTool { input, .. } = &mut open.block
        {
            input.push_str(piece);
            open.held += piece.len();
            self.held += piece.len();
        }
        Ok(())
    }

    /// Puts fields of `size` bytes into the block for the provider alone that has this index. Whether there is one.
    pub(super) fn add_fields(
        &mut self,
        index: Option<u64>,
        fields: impl IntoIterator<Item = (String, Value)>,
        size: usize,
    ) -> Result<bool, DecodeError> {
        let Some(at) = self.at(index)? else {
            return Ok(false);
        };
        let Block::ServerTool { .. } = &self.open[at].block else {
            return Ok(false);
        };
        self.check_size(size)?;
        let open = &mut self.open[at];
        if let Block::ServerTool { block, .. } = &mut open.block
            && let Some(block) = block.as_object_mut()
        {
            block.extend(fields);
        }
        open.held += size;
        self.held += size;
        Ok(true)
    }

    pub(super) fn close(&mut self, index: Option<u64>) -> Result<Option<Block>, DecodeError> {
        let Some(at) = self.at(index)? else {
            return Ok(None);
        };
        let open = self.open.remove(at);
        self.held = self.held.saturating_sub(open.held);
        Ok(Some(open.block))
    }

    /// Closes and returns all open blocks, in the order in which they began.
    pub(super) fn close_all(&mut self) -> Vec<Block> {
        let Self { open, .. } = std::mem::take(self);
        open.into_iter().map(|open| open.block).collect()
    }
}
