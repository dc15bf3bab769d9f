//! What a mad host's store has on its disk: each write is on it wholly or not at all, whatever the host then hears.

use std::collections::{BTreeMap, BTreeSet};
use stepwell_core::CallKey;
use stepwell_core::run::{Block, BlockContent, Decision, EffectId, Input};

#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// Whether there is a store at all.
    pub is_on: bool,
    pub blocks: BTreeMap<u64, Block>,
    /// The snapshot of the last write.
    pub snapshot: Option<String>,
    /// The writes that the host was given and has not answered.
    asked: BTreeMap<EffectId, (Vec<Block>, String)>,
    /// So many of the next failures are only said: the write is on the disk.
    pub false_alarms: u32,
    /// What the run was told is stored, or what it was revived from.
    known: BTreeSet<u64>,
    /// What was found wrong; each invariant looks for its own.
    pub gaps: Vec<String>,
    pub reuses: Vec<String>,
    pub too_early: Vec<String>,
}

impl Disk {
    pub fn asked(&mut self, id: EffectId, blocks: &[Block], snapshot: &str) {
        let EffectId::Persist { sequence } = id else {
            panic!("{id} writes nothing")
        };
        for (block, expected) in blocks.iter().zip(sequence..) {
            if block.sequence != expected {
                self.gaps
                    .push(format!("{} where {expected} is due", block.sequence));
            }
        }
        if sequence > self.blocks.len() as u64 {
            self.gaps.push(format!("{id} leaves some out"));
        }
        self.asked
            .insert(id, (blocks.to_vec(), snapshot.to_owned()));
    }

    /// The host answers the run: a write that is said to be stored is.
    pub fn answered(&mut self, input: &Input<'_>) {
        match input {
            Input::Persisted { effect } if self.asked.contains_key(effect) => {
                self.commit(*effect);
                self.asked.remove(effect);
                self.known = self.blocks.keys().copied().collect();
            }
            Input::PersistFailed { effect, .. } if self.asked.contains_key(effect) => {
                if self.false_alarms > 0 {
                    self.false_alarms -= 1;
                    self.commit(*effect);
                }
                self.asked.remove(effect);
            }
            _ => {}
        }
    }

    fn commit(&mut self, id: EffectId) {
        let (blocks, snapshot) = self.asked[&id].clone();
        for block in blocks {
            let before = self.blocks.insert(block.sequence, block.clone());
            if before.as_ref().is_some_and(|before| *before != block) {
                self.reuses.push(format!("{before:?} became {block:?}"));
            }
        }
        self.snapshot = Some(snapshot);
        let contiguous = self.blocks.keys().copied().eq(0..self.blocks.len() as u64);
        if !contiguous {
            self.gaps.push(format!("{:?}", self.blocks.keys()));
        }
    }

    /// The host dies. What it was about to write is on the disk or is not; nobody was told.
    pub fn crash(&mut self, commits: bool) {
        for id in self.asked.keys().copied().collect::<Vec<_>>() {
            if commits {
                self.commit(id);
            }
        }
        self.asked.clear();
        self.known = self.blocks.keys().copied().collect();
    }

    /// Whether the run may know that such a block is stored.
    fn has(&self, wanted: impl Fn(&BlockContent) -> bool) -> bool {
        self.known
            .iter()
            .any(|sequence| wanted(&self.blocks[sequence].content))
    }

    /// A tool is about to run. What it builds on: that it was asked for, and what the user said.
    pub fn used_by_tool(&mut self, key: CallKey) {
        if self.is_unused() {
            return;
        }
        let mut asks_first = false;
        let asked = self
            .has(|content| matches!(content, BlockContent::ToolUse { call, .. } if *call == key));
        if let Some(BlockContent::ToolUse { name, .. }) =
            self.blocks.values().map(|block| &block.content).find(
                |content| matches!(content, BlockContent::ToolUse { call, .. } if *call == key),
            )
        {
            asks_first = name == "ask";
        }
        let granted = self.has(|content| {
            let BlockContent::Approval { call, decision } = content else {
                return false;
            };
            *call == key && !matches!(decision, Decision::Denied { .. })
        });
        if !asked || (asks_first && !granted) {
            self.too_early
                .push(format!("the tool of {key:?} before what it builds on"));
        }
    }

    /// A tool is about to be told what the user said. What it builds on: that it is stored.
    pub fn used_by_answer(&mut self, id: EffectId) {
        if self.is_unused() {
            return;
        }
        let EffectId::Ask {
            call: of,
            number: at,
        } = id
        else {
            panic!("{id} is no question")
        };
        let is_stored = self.has(|content| {
            matches!(content, BlockContent::Answer { call, number, .. } if (*call, *number) == (of, at))
        });
        if !is_stored {
            self.too_early
                .push(format!("the answer to {id} before it is stored"));
        }
    }

    /// A hop is about to open. What it builds on: every result of the hops before it.
    pub fn used_by_stream(&mut self, id: EffectId) {
        let EffectId::Open { hop, .. } = id else {
            return;
        };
        if self.is_unused() {
            return;
        }
        let asked = self
            .blocks
            .values()
            .filter_map(|block| match &block.content {
                BlockContent::ToolUse { call, .. } if call.hop < hop => Some(*call),
                _ => None,
            });
        for key in asked.collect::<Vec<_>>() {
            let answered = self.has(
                |content| matches!(content, BlockContent::ToolResult { call, .. } if *call == key),
            );
            if !answered {
                self.too_early
                    .push(format!("{id} before the result of {key:?}"));
            }
        }
    }

    /// Without a store nothing is ever asked of it.
    fn is_unused(&self) -> bool {
        !self.is_on
    }
}
