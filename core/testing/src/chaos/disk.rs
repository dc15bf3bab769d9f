//! A host's store: each write is stored completely or not at all, whatever the host then reports.

use super::violation::{Invariant, Violation};
use crate::StoredTurn;
use std::collections::{BTreeMap, BTreeSet};
use stepwell_core::CallKey;
use stepwell_core::run::{
    Block, BlockContent, Decision, Durability, EffectId, Input, RunConfig, ToolInvocation,
};

#[derive(Debug, Default)]
pub(super) struct Disk {
    /// Whether there is a store at all.
    pub(super) is_on: bool,
    /// The tools whose calls the user must approve.
    guarded: BTreeSet<String>,
    pub(super) blocks: BTreeMap<u64, Block>,
    /// The turn with its blocks and the newest checkpoint.
    pub(super) turn: StoredTurn,
    /// The last write that is stored, and the hop in which it was given out.
    pub(super) last_write: Option<(EffectId, u32)>,
    /// The writes that the host was given and has not answered.
    asked: BTreeMap<EffectId, (Vec<Block>, String, u32)>,
    /// The number of next failures that are only reported: the write is stored.
    pub(super) false_alarms: u32,
    /// The blocks that were reported to the run as stored, or that it was revived from.
    known: BTreeSet<u64>,
}

fn broken(message: String) -> Result<(), Violation> {
    let invariant = Invariant::StoredBeforeUsed;
    Err(Violation { invariant, message })
}

impl Disk {
    pub(super) fn new(config: &RunConfig) -> Self {
        let names = config.tools.definitions().iter().map(|tool| &tool.name);
        let is_guarded = |name: &&String| {
            config
                .tools
                .get(name)
                .is_some_and(|tool| tool.requires_approval)
        };
        Self {
            is_on: config.durability != Durability::None,
            guarded: names.filter(is_guarded).cloned().collect(),
            ..Self::default()
        }
    }

    /// Takes a write that the host must carry out.
    pub(super) fn asked(
        &mut self,
        id: EffectId,
        blocks: &[Block],
        checkpoint: &str,
        hop: u32,
    ) -> Result<(), Violation> {
        let EffectId::Persist { sequence } = id else {
            return broken(format!("{id} writes nothing"));
        };
        let write = (blocks.to_vec(), checkpoint.to_owned(), hop);
        self.asked.insert(id, write);
        for (block, expected) in blocks.iter().zip(sequence..) {
            if block.sequence != expected {
                return broken(format!("block {} where {expected} is due", block.sequence));
            }
        }
        if sequence > self.blocks.len() as u64 {
            return broken(format!("{id} leaves blocks out"));
        }
        Ok(())
    }

    /// Takes the host's answer: a write that is reported as stored is stored.
    pub(super) fn answered(&mut self, input: &Input<'_>) {
        match input {
            Input::Persisted { effect } if self.asked.contains_key(effect) => {
                self.commit(*effect);
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
        let Some((blocks, checkpoint, hop)) = self.asked.remove(&id) else {
            return;
        };
        for block in &blocks {
            self.blocks.insert(block.sequence, block.clone());
        }
        self.turn.write(blocks, checkpoint);
        self.last_write = Some((id, hop));
    }

    /// Notes that the host dies. The write in progress is stored or not; no run was notified.
    pub(super) fn crash(&mut self, written: bool) {
        let asked: Vec<_> = self.asked.keys().copied().collect();
        for id in asked.into_iter().filter(|_| written) {
            self.commit(id);
        }
        self.asked.clear();
        self.known = self.blocks.keys().copied().collect();
    }

    /// Returns whether the run may know that such a block is stored.
    fn has(&self, wanted: impl Fn(&BlockContent) -> bool) -> bool {
        let mut known = self
            .known
            .iter()
            .filter_map(|sequence| self.blocks.get(sequence));
        known.any(|block| wanted(&block.content))
    }

    /// A tool is about to run. The call must be stored, and the user's decision if there must be one.
    pub(super) fn may_run(&self, invocation: &ToolInvocation) -> Result<(), Violation> {
        let key = invocation.call;
        let is_asked = self
            .has(|content| matches!(content, BlockContent::ToolUse { call, .. } if *call == key));
        let is_granted = !self.guarded.contains(&invocation.name)
            || self.has(|content| {
                let BlockContent::Approval { call, decision } = content else {
                    return false;
                };
                *call == key && !matches!(decision, Decision::Denied { .. })
            });
        if self.is_on && !(is_asked && is_granted) {
            return broken(format!(
                "the tool of {key:?} runs before what it builds on is stored"
            ));
        }
        Ok(())
    }

    /// Checks that the user's answer, which a tool is about to get, is stored.
    pub(super) fn may_answer(&self, id: EffectId) -> Result<(), Violation> {
        let is_stored = self.has(|content| {
            matches!(content, BlockContent::Answer { call, number, .. }
                if id == EffectId::Ask { call: *call, number: *number })
        });
        if self.is_on && !is_stored {
            return broken(format!("the answer to {id} is given before it is stored"));
        }
        Ok(())
    }

    /// A hop is about to open. Every result of the hops before it must be stored.
    pub(super) fn may_open(&self, id: EffectId) -> Result<(), Violation> {
        let EffectId::Open { hop, .. } = id else {
            return Ok(());
        };
        let asked = self
            .blocks
            .values()
            .filter_map(|block| match &block.content {
                BlockContent::ToolUse { call, .. } if call.hop < hop => Some(*call),
                _ => None,
            });
        let is_answered = |key: &CallKey| {
            self.has(
                |content| matches!(content, BlockContent::ToolResult { call, .. } if call == key),
            )
        };
        match asked
            .into_iter()
            .find(|key| self.is_on && !is_answered(key))
        {
            Some(key) => broken(format!("{id} before the result of {key:?} is stored")),
            None => Ok(()),
        }
    }
}
