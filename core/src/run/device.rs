//! The device under a run: the app goes to the background and comes back, it is killed, the network goes and changes.

use super::active::Active;
use super::completed::Completed;
use super::core::Core;
use super::edges::{Edge, on};
use super::effect::EffectId;
use super::erased::AnyRun;
use super::input::Input;
use super::opening::Opening;
use super::outcome::{Deadline, Failure};
use super::output::RunEvent;
use super::pending::Stage;
use super::streaming::Streaming;
use super::timer::TimerKey;
use super::typed::{Run, State, next};
use super::waiting::Waiting;
use super::{ExecutingTools, Idle, Interrupted};
use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What happens to a run when something happens to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DevicePolicy {
    /// When the app goes to the background.
    pub background: BackgroundPolicy,
    /// When the network is gone.
    pub offline: OfflinePolicy,
    /// When another network takes the place of the one before.
    pub network_change: NetworkChangePolicy,
    /// When the app was killed, and the run is revived.
    pub killed: KilledPolicy,
}

/// What happens when the app goes to the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum BackgroundPolicy {
    /// Nothing: for hosts that go on working there.
    Continue,
    /// The clocks of the model's silence, of the tools, of the pause before a new try, of the wait for the network and
    /// of the turn stop, and run on in the foreground with what was left: a process that was frozen finds nothing timed
    /// out. What still happens in the background counts.
    #[default]
    PauseClocks,
    /// The turn is cancelled, as if by the person.
    Cancel,
}

/// What happens when the run needs the network and there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum OfflinePolicy {
    /// A request is sent all the same, and if it fails there is no further try.
    Fail,
    /// Requests wait for the network, and one that failed without it does not count as a try. An open stream is left
    /// alone until the transport says that it is lost.
    Wait {
        /// How long at most; then the run fails.
        up_to: Duration,
    },
}

impl Default for OfflinePolicy {
    /// Five minutes.
    fn default() -> Self {
        Self::Wait {
            up_to: Duration::from_secs(300),
        }
    }
}

/// What happens to a request or a stream that is under way when another network takes the place of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum NetworkChangePolicy {
    /// It is left alone: the old network may carry it to its end.
    #[default]
    Keep,
    /// It is closed and opened again at once, if nothing was seen of it, or where the backend can resume it; else it is
    /// left alone.
    Reopen,
}

/// What happens to a turn that is revived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum KilledPolicy {
    /// It goes on.
    #[default]
    Continue,
    /// It is cancelled, as if by the person.
    Cancel,
}

/// What a run knows of the device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Device {
    /// The clocks stand still since then.
    pub(super) paused_at: Option<Timestamp>,
    pub(super) is_offline: bool,
    /// The tries of the hop that do not count: the network was gone, or changed.
    pub(super) uncounted: u32,
}

next! {
    /// What the return of the network leads to.
    Reconnected {
        /// The request goes out, or is to go out again.
        Opening,
        /// The stream goes on.
        Streaming,
        /// The pause before the next try goes on.
        Waiting,
    }
}

impl<S: State> Run<S> {
    /// The app is in the foreground again: the clocks run on.
    pub fn entered_foreground(&mut self, now: Timestamp) {
        self.core.tick(now);
        self.core.run_clocks();
    }
}

impl<S: Active + Edge<on::Fail, Completed>> Run<S> {
    /// The app goes to the background.
    ///
    /// # Errors
    /// The policy is to cancel: the turn is over.
    pub fn entered_background(mut self, now: Timestamp) -> Result<Self, Run<Completed>> {
        self.core.tick(now);
        if self.core.config.device.background == BackgroundPolicy::Cancel {
            return Err(self.cancel(now));
        }
        self.core.pause_clocks();
        Ok(self)
    }

    /// The network has been away for too long ([`TimerKey::Network`]).
    pub fn network_timed_out(mut self, now: Timestamp) -> Run<Completed> {
        self.core.tick(now);
        self.fail(no_network())
    }
}

/// The states that send nothing themselves: what comes next will.
macro_rules! notes {
    ($($state:ident)*) => {$(
        impl Run<$state> {
            /// The network is gone.
            pub fn network_lost(&mut self, now: Timestamp) {
                self.core.tick(now);
                self.core.network_lost();
            }

            /// There is a network, or another one.
            pub fn network_available(&mut self, now: Timestamp) {
                self.core.tick(now);
                self.core.network_is_back();
            }
        }
    )*};
}

notes! { Idle ExecutingTools Interrupted }

impl Run<Idle> {
    /// The app goes to the background.
    pub fn entered_background(&mut self, now: Timestamp) {
        self.core.tick(now);
        self.core.pause_clocks();
    }
}

impl Run<Opening> {
    /// The network is gone. A request that is under way is left alone until the transport says that it failed.
    pub fn network_lost(&mut self, now: Timestamp) {
        self.core.tick(now);
        self.core.network_lost();
    }

    /// There is a network, or another one. A request that waited for it goes out.
    pub fn network_available(&mut self, now: Timestamp) {
        self.core.tick(now);
        self.core.network_is_back();
        let under_way = self.open_effect();
        if self.core.reopens() && self.core.pending.stage(under_way) == Some(Stage::Given) {
            self.core.withdraw_stream(under_way);
            self.state = Opening::new(self.core.open_again(under_way));
        }
    }
}

impl Run<Streaming> {
    /// The network is gone. The stream is left alone until the transport says that it is lost.
    pub fn network_lost(&mut self, now: Timestamp) {
        self.core.tick(now);
        self.core.network_lost();
    }

    /// There is a network, or another one.
    pub fn network_available(mut self, now: Timestamp) -> Reconnected {
        self.core.tick(now);
        self.core.network_is_back();
        if !self.core.reopens() || !self.can_open_again() {
            return self.into();
        }
        let stream = self.open_effect();
        self.core.withdraw_stream(stream);
        let attempt = self.core.open_again(stream);
        self.goto(on::Reopen, Opening::new(attempt)).into()
    }
}

impl Run<Waiting> {
    /// The network is gone: the next try waits for it.
    ///
    /// # Errors
    /// The policy is not to wait: the turn is over.
    pub fn network_lost(mut self, now: Timestamp) -> Result<Self, Run<Completed>> {
        self.core.tick(now);
        self.core.network_lost();
        if self.core.config.device.offline == OfflinePolicy::Fail {
            return Err(self.fail(no_network()));
        }
        self.core.timers.stop(TimerKey::Retry);
        self.core.await_network();
        Ok(self)
    }

    /// There is a network, or another one. If the next try waited for it, it begins at once, or when the provider has
    /// said that it may.
    pub fn network_available(mut self, now: Timestamp) -> Reconnected {
        self.core.tick(now);
        self.core.network_is_back();
        let core = &mut *self.core;
        if core.timers.deadline(TimerKey::Retry).is_some() {
            return self.into();
        }
        match self.state.not_before() {
            Some(at) if at > core.now() => {
                let wake = core.clock().after(at.since(core.now()));
                core.timers.set(TimerKey::Retry, wake);
                self.into()
            }
            _ => self.wake(now).into(),
        }
    }
}

fn no_network() -> Failure {
    Failure::Connection {
        message: "there is no network".to_owned(),
    }
}

impl Failure {
    /// Whether the lack of a network explains it.
    fn is_of_the_network(&self) -> bool {
        matches!(
            self,
            Self::Connection { .. }
                | Self::TimedOut {
                    deadline: Deadline::Silence,
                }
        )
    }
}

impl Core {
    /// The time that deadlines are counted from; it stands still while the clocks are paused.
    pub(super) fn clock(&self) -> Timestamp {
        self.device.paused_at.unwrap_or(self.now())
    }

    /// The next deadline that counts, and what it is for.
    pub(super) fn next_timer(&self) -> Option<(TimerKey, Timestamp)> {
        let is_paused = self.device.paused_at.is_some();
        self.timers
            .next(|key| !(is_paused && key.stops_in_background()))
    }

    /// Takes out the earliest timer that is due.
    pub(super) fn take_due(&mut self) -> Option<TimerKey> {
        let (key, _) = self.next_timer().filter(|&(_, at)| at <= self.now())?;
        self.timers.stop(key);
        Some(key)
    }

    fn pause_clocks(&mut self) {
        if self.config.device.background == BackgroundPolicy::PauseClocks {
            self.device.paused_at.get_or_insert(self.now());
        }
    }

    fn run_clocks(&mut self) {
        if let Some(paused_at) = self.device.paused_at.take() {
            let paused = self.now().since(paused_at);
            self.timers.shift(paused);
            self.running_since = self.running_since.map(|since| since.after(paused));
        }
    }

    pub(super) fn network_lost(&mut self) {
        self.device.is_offline = true;
    }

    /// What waited for the network goes out.
    pub(super) fn network_is_back(&mut self) {
        self.device.is_offline = false;
        self.timers.stop(TimerKey::Network);
        for id in self.pending.at(Stage::Offline) {
            self.free(id);
        }
    }

    /// Whether this effect is to wait until there is a network.
    pub(super) fn waits_for_network(&self, id: EffectId) -> bool {
        self.device.is_offline
            && matches!(self.config.device.offline, OfflinePolicy::Wait { .. })
            && matches!(id, EffectId::Open { .. } | EffectId::CreateRun { .. })
    }

    pub(super) fn await_network(&mut self) {
        let OfflinePolicy::Wait { up_to } = self.config.device.offline else {
            return;
        };
        if self.timers.deadline(TimerKey::Network).is_none() {
            self.timers
                .set(TimerKey::Network, self.clock().after(up_to));
            self.event(RunEvent::WaitingForNetwork {
                up_to_ms: u64::try_from(up_to.as_millis()).unwrap_or(u64::MAX),
            });
        }
    }

    /// A request failed, or a stream broke. Without a network that is no try, and the next one waits for it; `None` if
    /// the network has nothing to do with it, and the failure if there is to be no further try.
    pub(super) fn plan_offline(
        &mut self,
        attempt: u32,
        failure: &Failure,
    ) -> Option<Result<Waiting, Failure>> {
        if !self.device.is_offline || !failure.is_of_the_network() {
            return None;
        }
        if self.config.device.offline == OfflinePolicy::Fail {
            return Some(Err(failure.clone()));
        }
        self.timers.stop(TimerKey::Silence);
        self.device.uncounted = self.device.uncounted.saturating_add(1);
        self.await_network();
        Some(Ok(Waiting::new(attempt.saturating_add(1), None)))
    }

    /// Whether what is under way is to be opened again on another network.
    fn reopens(&self) -> bool {
        self.config.device.network_change == NetworkChangePolicy::Reopen
    }

    /// The same request goes out again, which does not count as a try.
    fn open_again(&mut self, before: EffectId) -> u32 {
        let attempt = match before {
            EffectId::Open { attempt, .. } => attempt.saturating_add(1),
            _ => 0,
        };
        self.device.uncounted = self.device.uncounted.saturating_add(1);
        let hop = self.hop;
        self.emit(EffectId::Open { hop, attempt });
        attempt
    }

    /// The host is a new one: what the old one said of the device is no longer true.
    pub(super) fn host_is_new(&mut self) {
        self.run_clocks();
        self.network_is_back();
    }

    /// The new host has nothing in its hands: nothing is to be stopped.
    fn forget_host(&mut self) {
        for stage in [Stage::Given, Stage::Live] {
            for id in self.pending.at(stage) {
                if !matches!(id, EffectId::Persist { .. }) {
                    self.pending.remove(id);
                }
            }
        }
    }
}

impl AnyRun {
    /// The host died, and the policy is that the turn ends with it.
    pub(super) fn killed(mut self, now: Timestamp) -> Self {
        if matches!(self, Self::Idle(_) | Self::Completed(_)) {
            return self.revive(now);
        }
        if let Some(core) = self.core_mut() {
            core.forget_host();
        }
        self.step(Input::Cancel, now).0
    }
}
