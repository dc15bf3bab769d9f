//! When the host is killed: by what the turns have reached, and by what the clients have read.

use crate::host::Host;
use std::sync::{Arc, Mutex};

/// Numbers that look random (SplitMix64). Clones go on with the same series.
#[derive(Clone)]
pub(crate) struct Random(Arc<Mutex<u64>>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(seed)))
    }

    pub(crate) fn below(&self, end: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// When the next kill is.
    pub(crate) fn plan(&self) -> Plan {
        match self.below(5) {
            0 => Plan::Bytes(self.below(60_000)),
            _ => Plan::Steps(self.below(400)),
        }
    }
}

/// What is left until the kill.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan {
    /// Steps of the turns that this process sees.
    Steps(u64),
    /// Bytes of the clients' streams.
    Bytes(u64),
}

/// Counts the moments. Clones count the same.
#[derive(Clone, Default)]
pub(crate) struct Moments(Arc<Mutex<Option<(Plan, Host)>>>);

impl Moments {
    pub(crate) fn kill_at(&self, plan: Plan, host: Host) {
        *self.0.lock().unwrap() = Some((plan, host));
    }

    pub(crate) fn kill_no_more(&self) {
        *self.0.lock().unwrap() = None;
    }

    /// A turn has come one step further.
    pub(crate) fn step(&self) {
        self.pass(|plan| match plan {
            Plan::Steps(left) => Plan::Steps(left.checked_sub(1)?).into(),
            bytes => Some(bytes),
        });
    }

    /// A client has read so many bytes.
    pub(crate) fn bytes(&self, count: usize) {
        self.pass(|plan| match plan {
            Plan::Bytes(left) => Plan::Bytes(left.checked_sub(count as u64)?).into(),
            steps => Some(steps),
        });
    }

    fn pass(&self, next: impl FnOnce(Plan) -> Option<Plan>) {
        let mut planned = self.0.lock().unwrap();
        let Some((plan, host)) = planned.take() else {
            return;
        };
        match next(plan) {
            Some(plan) => *planned = Some((plan, host)),
            None => host.kill(),
        }
    }
}
