//! The device under a run: the app enters the background and returns, the network is lost and changes.
//!
//! Owns the pauses of `clocks`, and `network` with the effects that wait for one. In the background clocks may stop; without a
//! network an effect waits and no try is counted.

use super::Turn;
use crate::run::protocol::EffectStage;
use crate::run::protocol::{
    BackgroundPolicy, EffectId, NetworkChangePolicy, OfflinePolicy, RunEvent, TimerKey,
};

impl Turn {
    pub(in crate::run) fn pause_clocks(&mut self) {
        if self.setup.config().device.background == BackgroundPolicy::PauseClocks {
            self.clocks.pause();
        }
    }

    /// The user is asked: their time is not the turn's.
    pub(in crate::run) fn pause_turn_clock(&mut self) {
        let ran = self.clocks.pause_turn();
        self.budget.add_time(ran);
    }

    /// What waited for the network goes out.
    pub(in crate::run) fn network_is_back(&mut self) {
        self.network.back();
        self.clocks.stop(TimerKey::Network);
        for id in self.effects.at(EffectStage::Offline) {
            self.free(id);
        }
    }

    pub(in crate::run) fn await_network(&mut self) {
        let OfflinePolicy::Wait { up_to } = self.setup.config().device.offline else {
            return;
        };
        if !self.clocks.runs(TimerKey::Network) {
            self.clocks.set(TimerKey::Network, Some(up_to));
            self.event(RunEvent::WaitingForNetwork {
                up_to_ms: u64::try_from(up_to.as_millis()).unwrap_or(u64::MAX),
            });
        }
    }

    /// Whether what is under way is to be opened again on another network.
    pub(in crate::run) fn reopens(&self) -> bool {
        self.setup.config().device.network_change == NetworkChangePolicy::Reopen
    }

    /// The same request goes out again, which does not count as a try. The number of the new one.
    pub(in crate::run) fn open_again(&mut self, before: u32) -> u32 {
        let attempt = before.saturating_add(1);
        self.network.excuse_try();
        let hop = self.hop;
        self.emit(EffectId::Open { hop, attempt });
        attempt
    }

    /// The host is a new one: what the old one said of the device is no longer true.
    pub(in crate::run) fn host_is_new(&mut self) {
        self.clocks.run_on();
        self.network_is_back();
    }
}
