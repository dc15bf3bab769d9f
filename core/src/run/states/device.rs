//! Changes of the device that a run depends on: the app enters the background or the foreground, the network is lost,
//! regained or changed.

use super::Run;
use super::active::Active;
use super::any_run::next;
use super::data::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, State, Streaming,
    Summarizing, Waiting,
};
use super::edges::{Edge, on};
use super::fall_back::Prepared;
use crate::Timestamp;
use crate::run::protocol::EffectStage;
use crate::run::protocol::{BackgroundPolicy, Failure, OfflinePolicy, TimerKey};

next! {
    /// The result of the network's return.
    Reconnected {
        /// The request is sent, or will be sent again.
        Opening,
        /// The stream continues.
        Streaming,
        /// The stream of a summary continues.
        Summarizing,
        /// The pause before the next attempt continues.
        Waiting,
        /// The next hop cannot ask for the answer again: the turn is over.
        Completed,
    }
}

impl<S: State> Run<S> {
    /// Notes that the app is in the foreground again: the clocks continue.
    pub fn entered_foreground(&mut self, now: Timestamp) {
        self.turn.tick(now);
        self.turn.clocks_mut().run_on();
    }
}

impl<S: Active + Edge<on::Fail, Completed>> Run<S> {
    /// Notes that the app has entered the background.
    ///
    /// # Errors
    /// The policy says to cancel: the turn is over.
    pub fn entered_background(mut self, now: Timestamp) -> Result<Self, Run<Completed>> {
        self.turn.tick(now);
        if self.turn.config().device.background == BackgroundPolicy::Cancel {
            return Err(self.cancel(now));
        }
        self.turn.pause_clocks();
        Ok(self)
    }

    /// Handles the end of the wait for the network ([`TimerKey::Network`]).
    pub(in crate::run) fn network_timed_out(mut self, now: Timestamp) -> Run<Completed> {
        self.turn.tick(now);
        self.fail(no_network())
    }
}

/// Implements the notes for states that send nothing themselves: the next state acts on them.
macro_rules! notes {
    ($($state:ident)*) => {$(
        impl Run<$state> {
            /// Notes that the network was lost.
            pub fn network_lost(&mut self, now: Timestamp) {
                self.turn.tick(now);
                self.turn.network_mut().lost();
            }

            /// Notes that there is a network, or another one.
            pub fn network_available(&mut self, now: Timestamp) {
                self.turn.tick(now);
                self.turn.network_is_back();
            }
        }
    )*};
}

notes! { Idle Reviewing Decoding ExecutingTools Interrupted }

impl Run<Idle> {
    /// Notes that the app has entered the background.
    pub fn entered_background(&mut self, now: Timestamp) {
        self.turn.tick(now);
        self.turn.pause_clocks();
    }
}

impl Run<Opening> {
    /// Notes that the network was lost. A request in flight is left alone until the transport reports its failure.
    pub fn network_lost(&mut self, now: Timestamp) {
        self.turn.tick(now);
        self.turn.network_mut().lost();
    }

    /// Notes that there is a network, or another one. A request that waited for it is sent.
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
    /// Notes that the network was lost. The stream is left alone until the transport reports that it is lost.
    pub fn network_lost(&mut self, now: Timestamp) {
        self.turn.tick(now);
        self.turn.network_mut().lost();
    }

    /// Notes that there is a network, or another one.
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

impl Run<Summarizing> {
    /// Notes that the network was lost. The stream is left alone until the transport reports that it is lost.
    pub fn network_lost(&mut self, now: Timestamp) {
        self.turn.tick(now);
        self.turn.network_mut().lost();
    }

    /// Notes that there is a network, or another one.
    pub fn network_available(mut self, now: Timestamp) -> Reconnected {
        self.turn.tick(now);
        self.turn.network_is_back();
        if !self.turn.reopens() || self.state.answer().is_done() {
            return self.into();
        }
        let stream = self.open_effect();
        self.turn.withdraw_stream(stream);
        self.open_again().into()
    }
}

impl Run<Waiting> {
    /// Notes that the network was lost: the next attempt waits for it.
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

    /// Notes that there is a network, or another one. If the next attempt waited for it, it begins at once, or when the
    /// provider allows it.
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
            _ => match self.try_now(now) {
                Prepared::Opening(run) => run.into(),
                Prepared::Completed(run) => run.into(),
            },
        }
    }
}

fn no_network() -> Failure {
    Failure::Connection {
        message: "there is no network".to_owned(),
    }
}
