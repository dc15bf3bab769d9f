//! Changes of the device that a run depends on: the app enters the background and returns, the network is lost,
//! regained or changed.
//!
//! Owns the pauses of `clocks`, and `network` with the effects that wait for one. In the background clocks may stop;
//! without a network an effect waits and no attempt is counted.

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

    /// Emits the effects that waited for the network.
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

    /// Returns whether the current request is opened again on another network.
    pub(in crate::run) fn reopens(&self) -> bool {
        self.setup.config().device.network_change == NetworkChangePolicy::Reopen
    }

    /// Sends the same request again, which does not count as an attempt. Returns the new attempt's number.
    pub(in crate::run) fn open_again(&mut self, before: u32) -> u32 {
        let attempt = before.saturating_add(1);
        let hop = self.hop;
        self.emit(EffectId::Open { hop, attempt });
        attempt
    }

    /// Forgets the old host's reports about the device, since another host has taken over.
    pub(in crate::run) fn host_is_new(&mut self) {
        self.clocks.run_on();
        self.network_is_back();
    }
}
