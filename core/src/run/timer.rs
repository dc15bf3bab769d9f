use crate::{CallKey, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerKey {
    /// The model has been silent for too long.
    Silence,
    /// A failed request is to be tried again.
    Retry,
    /// A tool has taken too long.
    Tool(CallKey),
    /// The turn has taken too long.
    Turn,
    /// The person has taken too long to allow a call.
    Approval(CallKey),
    /// The network has been away for too long.
    Network,
    /// The answer is over, and its stream was left open long enough.
    Closing,
}

impl TimerKey {
    /// Whether the clock stands still while the app is suspended; see
    /// [`BackgroundPolicy::PauseClocks`](super::BackgroundPolicy::PauseClocks).
    pub(super) fn stops_in_background(self) -> bool {
        match self {
            Self::Silence
            | Self::Retry
            | Self::Tool(_)
            | Self::Turn
            | Self::Network
            | Self::Closing => true,
            // The person's time runs on.
            Self::Approval(_) => false,
        }
    }
}

/// The deadlines of a run, one for each thing that has one, sorted by what they are for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Timers(Vec<(TimerKey, Timestamp)>);

impl Timers {
    pub(super) fn set(&mut self, key: TimerKey, at: Timestamp) {
        match self.0.binary_search_by_key(&key, |timer| timer.0) {
            Ok(index) => self.0[index].1 = at,
            Err(index) => self.0.insert(index, (key, at)),
        }
    }

    pub(super) fn deadline(&self, key: TimerKey) -> Option<Timestamp> {
        let index = self.0.binary_search_by_key(&key, |timer| timer.0).ok()?;
        Some(self.0[index].1)
    }

    pub(super) fn stop(&mut self, key: TimerKey) {
        self.0.retain(|timer| timer.0 != key);
    }

    pub(super) fn stop_all(&mut self) {
        self.0.clear();
    }

    /// The next deadline of those that count, and what it is for.
    pub(super) fn next(&self, counts: impl Fn(TimerKey) -> bool) -> Option<(TimerKey, Timestamp)> {
        let counting = self.0.iter().copied().filter(|&(key, _)| counts(key));
        counting.min_by_key(|&(key, at)| (at, key))
    }

    /// The clocks that stood still run on.
    pub(super) fn shift(&mut self, by: Duration) {
        for (_, at) in self
            .0
            .iter_mut()
            .filter(|timer| timer.0.stops_in_background())
        {
            *at = at.after(by);
        }
    }

    #[cfg(feature = "model-check")]
    pub(super) fn iter(&self) -> impl Iterator<Item = (TimerKey, Timestamp)> + '_ {
        self.0.iter().copied()
    }
}
