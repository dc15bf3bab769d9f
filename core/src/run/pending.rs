use super::effect::EffectId;
use serde::{Deserialize, Serialize};

/// How far an effect has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
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

/// The effects that are not answered yet, sorted by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Pending(Vec<(EffectId, Stage)>);

impl Pending {
    pub(super) fn stage(&self, id: EffectId) -> Option<Stage> {
        self.find(id).ok().map(|index| self.0[index].1)
    }

    pub(super) fn set(&mut self, id: EffectId, stage: Stage) {
        match self.find(id) {
            Ok(index) => self.0[index].1 = stage,
            Err(index) => self.0.insert(index, (id, stage)),
        }
    }

    pub(super) fn remove(&mut self, id: EffectId) -> Option<Stage> {
        self.find(id).ok().map(|index| self.0.remove(index).1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (EffectId, Stage)> + '_ {
        self.0.iter().copied()
    }

    /// The effects that have come so far.
    pub(super) fn at(&self, stage: Stage) -> Vec<EffectId> {
        let there = self.iter().filter(|entry| entry.1 == stage);
        there.map(|(id, _)| id).collect()
    }

    /// The held effects that are free once `durable` blocks are stored.
    pub(super) fn freed(&self, durable: u64) -> Vec<EffectId> {
        self.iter()
            .filter(|(_, stage)| matches!(stage, Stage::Held { until } if *until <= durable))
            .map(|(id, _)| id)
            .collect()
    }

    fn find(&self, id: EffectId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |entry| entry.0)
    }
}
