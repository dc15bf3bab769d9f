//! A store that can fail, and that sees to it that it is used rightly.

use stepwell_core::RunId;
use stepwell_core::run::{Block, TurnStatus};

#[derive(Clone, Debug)]
pub struct Store {
    /// How many of the next writes fail.
    pub failures: u32,
    /// How long a write takes, in milliseconds.
    pub takes: u64,
    pub blocks: Vec<Block>,
    pub status: Option<TurnStatus>,
    pub snapshot: Option<String>,
    /// Every write that was asked for, also those that failed.
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
            snapshot: None,
            writes: Vec::new(),
            closings: 0,
        }
    }
}

impl Store {
    /// Takes one write: all of it, or nothing. Whether it keeps to the rules is checked either way.
    pub fn write(
        &mut self,
        turn: &RunId,
        status: TurnStatus,
        blocks: Vec<Block>,
        snapshot: String,
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
        self.blocks.extend(blocks);
        self.status = Some(status);
        self.snapshot = Some(snapshot);
        Ok(())
    }

    /// I6a and I6b: numbers without a gap, and none for two contents.
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
