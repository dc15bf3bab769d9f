//! A store that can fail, and that checks how it is used.

use crate::StoredTurn;
use stepwell_core::RunId;
use stepwell_core::run::{Block, TurnStatus};

/// The store of a [`World`](super::World). It panics where the run breaks the rules of writes (invariant I6).
#[derive(Clone, Debug)]
pub struct Store {
    /// The number of next writes that fail.
    pub failures: u32,
    /// The time that a write takes, in milliseconds.
    pub takes: u64,
    /// The blocks that are stored.
    pub blocks: Vec<Block>,
    /// The status of the turn as the last write has it.
    pub status: Option<TurnStatus>,
    /// The turn, as a new host would continue with it.
    pub turn: StoredTurn,
    /// Every write that was requested, the failed ones too.
    pub writes: Vec<(TurnStatus, Vec<Block>)>,
    closings: usize,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            failures: 0,
            takes: 3,
            blocks: Vec::new(),
            status: None,
            turn: StoredTurn::default(),
            writes: Vec::new(),
            closings: 0,
        }
    }
}

impl Store {
    /// Stores one write completely, or fails. The rules are checked either way.
    pub(super) fn write(
        &mut self,
        turn: &RunId,
        status: TurnStatus,
        blocks: Vec<Block>,
        checkpoint: String,
    ) -> Result<(), String> {
        assert!(!turn.is_empty(), "a write names its turn");
        self.check(&blocks);
        self.writes.push((status, blocks.clone()));
        if self.failures > 0 {
            self.failures -= 1;
            return Err("the disk is full".to_owned());
        }
        assert_eq!(self.closings, 0, "a write after the turn was closed");
        self.closings += usize::from(status != TurnStatus::Streaming);
        self.turn.write(blocks.clone(), checkpoint);
        self.blocks.extend(blocks);
        self.status = Some(status);
        Ok(())
    }

    /// Checks I6: the numbers have no gap, and each belongs to one content.
    fn check(&self, blocks: &[Block]) {
        for (block, sequence) in blocks.iter().zip(self.blocks.len() as u64..) {
            assert_eq!(block.sequence, sequence, "a gap in the sequence");
        }
        for block in blocks {
            let before = self.writes.iter().flat_map(|(_, blocks)| blocks);
            let same = before.filter(|earlier| earlier.sequence == block.sequence);
            same.for_each(|earlier| assert_eq!(earlier, block, "one number, two contents"));
        }
    }
}
