//! The device under a run: the app goes to the background and comes back, the network goes and changes.

use super::Run;
use super::active::Active;
use super::any_run::next;
use super::data::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, State, Streaming,
    Waiting,
};
use super::edges::{Edge, on};
use crate::Timestamp;
use crate::run::protocol::EffectStage;
use crate::run::protocol::{BackgroundPolicy, Failure, OfflinePolicy, TimerKey};

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
        self.turn.tick(now);
        self.turn.clocks_mut().run_on();
    }
}

impl<S: Active + Edge<on::Fail, Completed>> Run<S> {
    /// The app goes to the background.
    ///
    /// # Errors
    /// The policy is to cancel: the turn is over.
    pub fn entered_background(mut self, now: Timestamp) -> Result<Self, Run<Completed>> {
        self.turn.tick(now);
        if self.turn.config().device.background == BackgroundPolicy::Cancel {
            return Err(self.cancel(now));
        }
        self.turn.pause_clocks();
        Ok(self)
    }

    /// The network has been away for too long ([`TimerKey::Network`]).
    pub(in crate::run) fn network_timed_out(mut self, now: Timestamp) -> Run<Completed> {
        self.turn.tick(now);
        self.fail(no_network())
    }
}

/// The states that send nothing themselves: what comes next will.
macro_rules! notes {
    ($($state:ident)*) => {$(
        impl Run<$state> {
            /// The network is gone.
            pub fn network_lost(&mut self, now: Timestamp) {
                self.turn.tick(now);
                self.turn.network_mut().lost();
            }

            /// There is a network, or another one.
            pub fn network_available(&mut self, now: Timestamp) {
                self.turn.tick(now);
                self.turn.network_is_back();
            }
        }
    )*};
}

notes! { Idle Reviewing Decoding ExecutingTools Interrupted }

impl Run<Idle> {
    /// The app goes to the background.
    pub fn entered_background(&mut self, now: Timestamp) {
        self.turn.tick(now);
        self.turn.pause_clocks();
    }
}

impl Run<Opening> {
    /// The network is gone. A request that is under way is left alone until the transport says that it failed.
    pub fn network_lost(&mut self, now: Timestamp) {
        self.turn.tick(now);
        self.turn.network_mut().lost();
    }

    /// There is a network, or another one. A request that waited for it goes out.
    pub fn network_available(&mut self, now: Timestamp) {
        self.turn.tick(now);
        self.turn.network_is_back();
        let under_way = self.open_effect();
        if self.turn.reopens() && self.turn.stage(under_way) == Some(EffectStage::Given) {
            self.turn.withdraw_stream(under_way);
            self.state = Opening::new(self.turn.open_again(self.state.attempt()));
        }
    }
}

impl Run<Streaming> {
    /// The network is gone. The stream is left alone until the transport says that it is lost.
    pub fn network_lost(&mut self, now: Timestamp) {
        self.turn.tick(now);
        self.turn.network_mut().lost();
    }

    /// There is a network, or another one.
    pub fn network_available(mut self, now: Timestamp) -> Reconnected {
        self.turn.tick(now);
        self.turn.network_is_back();
        if !self.turn.reopens() || !self.prepare_to_open_again() {
            return self.into();
        }
        let stream = self.open_effect();
        self.turn.withdraw_stream(stream);
        if self.turn.broken_stream().is_none() {
            self.turn.drop_stream();
        }
        let attempt = self.turn.open_again(self.state.answer().attempt());
        self.goto(on::Reopen, Opening::new(attempt)).into()
    }
}

impl Run<Waiting> {
    /// The network is gone: the next try waits for it.
    ///
    /// # Errors
    /// The policy is not to wait: the turn is over.
    pub fn network_lost(mut self, now: Timestamp) -> Result<Self, Run<Completed>> {
        self.turn.tick(now);
        self.turn.network_mut().lost();
        if self.turn.config().device.offline == OfflinePolicy::Fail {
            return Err(self.fail(no_network()));
        }
        self.turn.clocks_mut().stop(TimerKey::Retry);
        self.turn.await_network();
        Ok(self)
    }

    /// There is a network, or another one. If the next try waited for it, it begins at once, or when the provider has
    /// said that it may.
    pub fn network_available(mut self, now: Timestamp) -> Reconnected {
        self.turn.tick(now);
        self.turn.network_is_back();
        let clocks = self.turn.clocks_mut();
        if clocks.runs(TimerKey::Retry) {
            return self.into();
        }
        match self.state.not_before() {
            Some(at) if at > clocks.now() => {
                let wait = at.since(clocks.now());
                clocks.set(TimerKey::Retry, Some(wait));
                self.into()
            }
            _ => self.try_now(now).into(),
        }
    }
}

fn no_network() -> Failure {
    Failure::Connection {
        message: "there is no network".to_owned(),
    }
}
