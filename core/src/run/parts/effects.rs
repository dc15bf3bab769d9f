use crate::CallKey;
use crate::run::protocol::{EffectId, Input};
use serde::{Deserialize, Serialize};

/// How far an effect has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// It waits until this many blocks of the turn are stored.
    Held {
        /// How many.
        until: u64,
    },
    /// It waits for the host to ask.
    Queued,
    /// The host has it.
    Given,
    /// Of a stream: it is open, and its bytes come under the same id.
    Live,
    /// Of a tool: its result comes later, whatever becomes of the host.
    Deferred,
    /// Of a tool: it begins when another comes to its end.
    Waiting,
    /// It waits for the network.
    Offline,
}

impl Stage {
    /// Whether the input may answer an effect that has come so far.
    pub(crate) fn takes(self, input: &Input<'_>) -> bool {
        let is_of_open_stream = matches!(
            input,
            Input::Received { .. } | Input::Ended { .. } | Input::Lost { .. }
        );
        match self {
            Self::Live => is_of_open_stream,
            Self::Given => !is_of_open_stream,
            Self::Deferred => matches!(input, Input::ToolFinished { .. }),
            Self::Held { .. } | Self::Queued | Self::Waiting | Self::Offline => false,
        }
    }
}

/// The effects that are not answered yet, sorted by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Effects(Vec<(EffectId, Stage)>);

impl Effects {
    pub(crate) fn stage(&self, id: EffectId) -> Option<Stage> {
        self.find(id).ok().map(|index| self.0[index].1)
    }

    pub(crate) fn set(&mut self, id: EffectId, stage: Stage) {
        match self.find(id) {
            Ok(index) => self.0[index].1 = stage,
            Err(index) => self.0.insert(index, (id, stage)),
        }
    }

    pub(crate) fn remove(&mut self, id: EffectId) -> Option<Stage> {
        self.find(id).ok().map(|index| self.0.remove(index).1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (EffectId, Stage)> + '_ {
        self.0.iter().copied()
    }

    /// The effects that have come so far.
    pub(crate) fn at(&self, stage: Stage) -> Vec<EffectId> {
        let there = self.iter().filter(|entry| entry.1 == stage);
        there.map(|(id, _)| id).collect()
    }

    /// The held effects that are free once `durable` blocks are stored.
    pub(crate) fn freed(&self, durable: u64) -> Vec<EffectId> {
        self.iter()
            .filter(|(_, stage)| matches!(stage, Stage::Held { until } if *until <= durable))
            .map(|(id, _)| id)
            .collect()
    }

    /// The write that the host has.
    pub(crate) fn given_write(&self) -> Option<EffectId> {
        let is_write = |id: &EffectId| matches!(id, EffectId::Persist { .. });
        self.at(Stage::Given).into_iter().find(is_write)
    }

    /// How many tools have begun, or are about to.
    pub(crate) fn running_tools(&self) -> usize {
        let runs = |&(id, stage): &(EffectId, Stage)| {
            let waits = matches!(stage, Stage::Waiting | Stage::Deferred);
            matches!(id, EffectId::Tool(_)) && !waits
        };
        self.iter().filter(runs).count()
    }

    /// The first tool that waits for another to come to its end.
    pub(crate) fn waiting_tool(&self) -> Option<CallKey> {
        self.iter().find_map(|(id, stage)| match id {
            EffectId::Tool(key) if stage == Stage::Waiting => Some(key),
            _ => None,
        })
    }

    /// Whether only the user, or a result that comes later, is awaited.
    pub(crate) fn are_at_rest(&self) -> bool {
        self.iter().all(|(id, stage)| {
            matches!(id, EffectId::Approve(_)) && stage == Stage::Given || stage == Stage::Deferred
        })
    }

    /// The host died: what it had in its hands is gone, but for its writes.
    pub(crate) fn forget_host(&mut self) {
        self.0.retain(|(id, stage)| {
            matches!(id, EffectId::Persist { .. }) || !matches!(stage, Stage::Given | Stage::Live)
        });
    }

    fn find(&self, id: EffectId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |entry| entry.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(index: u32) -> EffectId {
        EffectId::Tool(CallKey { hop: 0, index })
    }

    #[test]
    fn each_effect_has_one_stage_and_is_gone_with_its_answer() {
        let mut effects = Effects::default();
        let open = EffectId::Open { hop: 0, attempt: 0 };
        effects.set(open, Stage::Held { until: 2 });
        assert!(effects.freed(1).is_empty());
        assert_eq!(effects.freed(2), [open]);
        effects.set(open, Stage::Live);
        let ended = Input::Ended { effect: open };
        let opened = Input::Opened {
            effect: open,
            content_type: None,
        };
        assert!(Stage::Live.takes(&ended) && !Stage::Live.takes(&opened));
        assert!(Stage::Given.takes(&opened) && !Stage::Given.takes(&ended));
        assert_eq!(effects.remove(open), Some(Stage::Live));
        assert_eq!(effects.remove(open), None);
    }

    #[test]
    fn tools_that_wait_take_no_room() {
        let mut effects = Effects::default();
        effects.set(tool(0), Stage::Given);
        effects.set(tool(1), Stage::Deferred);
        effects.set(tool(3), Stage::Waiting);
        effects.set(tool(2), Stage::Waiting);
        assert_eq!(effects.running_tools(), 1);
        assert_eq!(effects.waiting_tool(), Some(CallKey { hop: 0, index: 2 }));
        assert!(!effects.are_at_rest());
        let write = EffectId::Persist { sequence: 0 };
        effects.set(write, Stage::Given);
        assert_eq!(effects.given_write(), Some(write));
        effects.forget_host();
        assert_eq!(effects.stage(tool(0)), None);
        assert_eq!(effects.stage(tool(1)), Some(Stage::Deferred));
        assert_eq!(effects.stage(write), Some(Stage::Given));
    }
}
