use crate::CallKey;
use crate::run::protocol::{EffectId, EffectStage};
use serde::{Deserialize, Serialize};

/// The effects that are not answered yet, sorted by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Effects(Vec<(EffectId, EffectStage)>);

impl Effects {
    pub(crate) fn stage(&self, id: EffectId) -> Option<EffectStage> {
        self.find(id).ok().map(|index| self.0[index].1)
    }

    pub(crate) fn set(&mut self, id: EffectId, stage: EffectStage) {
        match self.find(id) {
            Ok(index) => self.0[index].1 = stage,
            Err(index) => self.0.insert(index, (id, stage)),
        }
    }

    pub(crate) fn remove(&mut self, id: EffectId) -> Option<EffectStage> {
        self.find(id).ok().map(|index| self.0.remove(index).1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (EffectId, EffectStage)> + '_ {
        self.0.iter().copied()
    }

    /// The effects that have come so far.
    pub(crate) fn at(&self, stage: EffectStage) -> Vec<EffectId> {
        let there = self.iter().filter(|entry| entry.1 == stage);
        there.map(|(id, _)| id).collect()
    }

    /// The held effects that are free once `durable` blocks are stored.
    pub(crate) fn freed(&self, durable: u64) -> Vec<EffectId> {
        self.iter()
            .filter(|(_, stage)| matches!(stage, EffectStage::Held { until } if *until <= durable))
            .map(|(id, _)| id)
            .collect()
    }

    /// The write that the host has.
    pub(crate) fn given_write(&self) -> Option<EffectId> {
        let is_write = |id: &EffectId| matches!(id, EffectId::Persist { .. });
        self.at(EffectStage::Given).into_iter().find(is_write)
    }

    /// Returns the write that is in flight, whether the host has it yet or not.
    pub(crate) fn write(&self) -> Option<EffectId> {
        let is_write = |id: &EffectId| matches!(id, EffectId::Persist { .. });
        self.iter().map(|(id, _)| id).find(is_write)
    }

    /// Checks that a run with this number of recorded blocks can have these effects.
    ///
    /// # Errors
    /// No run stores such effects.
    pub(crate) fn check_stored(&self, recorded: u64) -> Result<(), &'static str> {
        if !self.0.is_sorted_by(|one, other| one.0 < other.0) {
            return Err("effects out of order");
        }
        let waits_for_ever = |(_, stage): (EffectId, EffectStage)| matches!(stage, EffectStage::Held { until } if until > recorded);
        if self.iter().any(waits_for_ever) {
            return Err("an effect that waits for what was never recorded");
        }
        let is_write = |(id, _): &(EffectId, EffectStage)| matches!(id, EffectId::Persist { .. });
        if self.iter().filter(is_write).count() > 1 {
            return Err("two writes at a time");
        }
        Ok(())
    }

    /// Returns the number of tools that have begun, or are about to.
    pub(crate) fn running_tools(&self) -> usize {
        let runs = |&(id, stage): &(EffectId, EffectStage)| {
            let waits = matches!(stage, EffectStage::Waiting | EffectStage::Deferred);
            matches!(id, EffectId::Tool(_)) && !waits
        };
        self.iter().filter(runs).count()
    }

    /// The first tool that waits for another to come to its end.
    pub(crate) fn waiting_tool(&self) -> Option<CallKey> {
        self.iter().find_map(|(id, stage)| match id {
            EffectId::Tool(key) if stage == EffectStage::Waiting => Some(key),
            _ => None,
        })
    }

    /// Returns whether only the user, or a result that comes later, is awaited.
    pub(crate) fn are_at_rest(&self) -> bool {
        self.iter().all(|(id, stage)| {
            matches!(id, EffectId::Approve(_)) && stage == EffectStage::Given
                || stage == EffectStage::Deferred
        })
    }

    /// Forgets the effects that a dead host was carrying out, except its writes.
    pub(crate) fn forget_host(&mut self) {
        self.0.retain(|(id, stage)| {
            matches!(id, EffectId::Persist { .. })
                || !matches!(stage, EffectStage::Given | EffectStage::Live)
        });
    }

    fn find(&self, id: EffectId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |entry| entry.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::protocol::Input;

    fn tool(index: u32) -> EffectId {
        EffectId::Tool(CallKey { hop: 0, index })
    }

    #[test]
    fn each_effect_has_one_stage_and_is_gone_with_its_answer() {
        let mut effects = Effects::default();
        let open = EffectId::Open { hop: 0, attempt: 0 };
        effects.set(open, EffectStage::Held { until: 2 });
        assert!(effects.freed(1).is_empty());
        assert_eq!(effects.freed(2), [open]);
        effects.set(open, EffectStage::Live);
        let ended = Input::Ended { effect: open };
        let opened = Input::Opened {
            effect: open,
            content_type: None,
        };
        assert!(EffectStage::Live.takes(&ended) && !EffectStage::Live.takes(&opened));
        assert!(EffectStage::Given.takes(&opened) && !EffectStage::Given.takes(&ended));
        assert_eq!(effects.remove(open), Some(EffectStage::Live));
        assert_eq!(effects.remove(open), None);
    }

    #[test]
    fn tools_that_wait_take_no_room() {
        let mut effects = Effects::default();
        effects.set(tool(0), EffectStage::Given);
        effects.set(tool(1), EffectStage::Deferred);
        effects.set(tool(3), EffectStage::Waiting);
        effects.set(tool(2), EffectStage::Waiting);
        assert_eq!(effects.running_tools(), 1);
        assert_eq!(effects.waiting_tool(), Some(CallKey { hop: 0, index: 2 }));
        assert!(!effects.are_at_rest());
        let write = EffectId::Persist { sequence: 0 };
        effects.set(write, EffectStage::Given);
        assert_eq!(effects.given_write(), Some(write));
        effects.forget_host();
        assert_eq!(effects.stage(tool(0)), None);
        assert_eq!(effects.stage(tool(1)), Some(EffectStage::Deferred));
        assert_eq!(effects.stage(write), Some(EffectStage::Given));
    }
}
