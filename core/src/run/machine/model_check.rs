//! For the model checker alone: what it must see of a run, and how it takes one apart. No part of the public
//! interface; it may change at any time.

pub use crate::run::abstraction::Abstraction;
pub use crate::run::states::walked::take_walked;

use super::RunMachine;
use crate::Timestamp;
use crate::run::parts::Stage;
use crate::run::protocol::{EffectId, Misuse, TimerKey};
use crate::run::states::any_run::AnyRun;
use crate::run::states::{Run, State};
use crate::run::turn::Turn;
use std::hash::Hasher;

/// How far an effect has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EffectStage {
    /// It waits for the store.
    Held,
    /// It waits for the host to ask.
    Queued,
    /// The host has it.
    Given,
    /// Of a stream: it is open.
    Live,
    /// It waits for the network.
    Offline,
    /// Of a tool: it begins when another comes to its end.
    Waiting,
    /// Of a tool: its result comes later, whatever becomes of the host.
    Deferred,
}

/// Does the same in every state.
macro_rules! in_any_state {
    ($any:expr, $run:ident => $do:expr, $broken:expr) => {
        match $any {
            AnyRun::Idle($run) => $do,
            AnyRun::Opening($run) => $do,
            AnyRun::Waiting($run) => $do,
            AnyRun::Streaming($run) => $do,
            AnyRun::Reviewing($run) => $do,
            AnyRun::Decoding($run) => $do,
            AnyRun::ExecutingTools($run) => $do,
            AnyRun::Interrupted($run) => $do,
            AnyRun::Completed($run) => $do,
            AnyRun::Broken => $broken,
        }
    };
}
impl RunMachine {
    /// A second machine in the same state.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            run: self.run.clone(),
            disposed: None,
        }
    }

    /// Feeds the canonical form to a hasher: two runs of one form have the same future.
    pub fn canon(&self, abstraction: &Abstraction, out: &mut impl Hasher) {
        in_any_state!(&self.run, run => canon(run, abstraction, out), ());
    }

    /// Lets a timer fire, whatever its time is. `false` if it does not run.
    ///
    /// # Errors
    /// As for [`handle`](Self::handle).
    pub fn fire_now(&mut self, timer: TimerKey, now: Timestamp) -> Result<bool, Misuse> {
        let turn = self.run.turn_mut().ok_or(Misuse::Broken)?;
        turn.tick(now);
        if !turn.clocks().runs(timer) {
            return Ok(false);
        }
        turn.clocks_mut().stop(timer);
        self.fire(timer, now).map(|()| true)
    }

    /// The effects that are not answered yet.
    #[must_use]
    pub fn pending_effects(&self) -> Vec<(EffectId, EffectStage)> {
        let stage = |stage| match stage {
            Stage::Held { .. } => EffectStage::Held,
            Stage::Queued => EffectStage::Queued,
            Stage::Given => EffectStage::Given,
            Stage::Live => EffectStage::Live,
            Stage::Offline => EffectStage::Offline,
            Stage::Deferred => EffectStage::Deferred,
            Stage::Waiting => EffectStage::Waiting,
        };
        let effects = self.run.turn().into_iter().flat_map(Turn::effects);
        effects.map(|(id, of)| (id, stage(of))).collect()
    }

    /// What deadlines run.
    #[must_use]
    pub fn timers(&self) -> Vec<TimerKey> {
        let timers = self.run.turn().into_iter();
        let timers = timers.flat_map(|turn| turn.clocks().timers());
        timers.map(|(key, _)| key).collect()
    }

    /// Those whose time is over.
    #[must_use]
    pub fn due_timers(&self, now: Timestamp) -> Vec<TimerKey> {
        let timers = self.run.turn().into_iter();
        let timers = timers.flat_map(|turn| turn.clocks().timers());
        timers
            .filter(|(_, at)| *at <= now)
            .map(|(key, _)| key)
            .collect()
    }

    /// The same without those that stand still.
    #[must_use]
    pub fn running_timers(&self) -> Vec<TimerKey> {
        let turn = self.run.turn();
        let paused = turn.is_some_and(|turn| turn.clocks().paused_at().is_some());
        let mut timers = self.timers();
        timers.retain(|timer| !(paused && timer.stops_in_background()));
        timers
    }

    /// How many blocks the run knows to be stored.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.run.turn().map_or(0, Turn::durable)
    }

    /// Whether the turn's clock is stopped and will go on.
    #[must_use]
    pub fn is_turn_clock_paused(&self) -> bool {
        let turn = self.run.turn();
        turn.is_some_and(|turn| turn.clocks().turn_left().is_some())
    }
}

fn canon<S: State>(run: &Run<S>, abstraction: &Abstraction, out: &mut impl Hasher) {
    // No state keeps a number of a block; the only time is that of a `Retry-After`, which no peer here sends.
    run.turn().canon(S::KIND, run.state(), abstraction, out);
}
