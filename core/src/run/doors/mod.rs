//! Doors for the model checker alone: what it must see of a run, and how it takes one apart. No part of the public
//! interface; it may change at any time.

mod canon;
mod seeded;

pub use canon::Abstraction;
pub use seeded::{Fault, is_seeded, seed};

use super::edges::{EdgeRow, StateKind};
use super::effect::EffectId;
use super::erased::AnyRun;
use super::input::Misuse;
use super::machine::RunMachine;
use super::pending::Stage;
use super::timer::TimerKey;
use super::typed::Run;
use crate::Timestamp;
use std::cell::RefCell;

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
            AnyRun::ExecutingTools($run) => $do,
            AnyRun::Interrupted($run) => $do,
            AnyRun::Completed($run) => $do,
            AnyRun::Broken => $broken,
        }
    };
}
use in_any_state;

impl RunMachine {
    /// A second machine in the same state.
    #[must_use]
    pub fn fork(&self) -> Self {
        let run = in_any_state!(
            &self.run,
            run => Run { core: run.core.clone(), state: run.state.clone() }.into(),
            AnyRun::Broken
        );
        Self {
            run,
            disposed: None,
        }
    }

    /// Lets a timer fire, whatever its time is. `false` if it does not run.
    ///
    /// # Errors
    /// As for [`handle`](Self::handle).
    pub fn fire_now(&mut self, timer: TimerKey, now: Timestamp) -> Result<bool, Misuse> {
        let core = self.run.core_mut().ok_or(Misuse::Broken)?;
        core.tick(now);
        if core.timers.deadline(timer).is_none() {
            return Ok(false);
        }
        core.timers.stop(timer);
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
        self.run.core().map_or_else(Vec::new, |core| {
            core.pending
                .iter()
                .map(|(id, of)| (id, stage(of)))
                .collect()
        })
    }

    /// What deadlines run.
    #[must_use]
    pub fn timers(&self) -> Vec<TimerKey> {
        self.run.core().map_or_else(Vec::new, |core| {
            core.timers.iter().map(|(key, _)| key).collect()
        })
    }

    /// The same without those that stand still.
    #[must_use]
    pub fn running_timers(&self) -> Vec<TimerKey> {
        let paused = self
            .run
            .core()
            .is_some_and(|core| core.device.paused_at.is_some());
        let mut timers = self.timers();
        timers.retain(|timer| !(paused && timer.stops_in_background()));
        timers
    }

    /// How many blocks the run knows to be stored.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.run.core().map_or(0, |core| core.recorder.durable())
    }

    /// Whether the turn's clock is stopped and will go on.
    #[must_use]
    pub fn is_turn_clock_paused(&self) -> bool {
        self.run.core().is_some_and(|core| core.turn_left.is_some())
    }
}

thread_local! {
    static WALKED: RefCell<Vec<EdgeRow>> = const { RefCell::new(Vec::new()) };
}

/// Notes a move of the state. `on` is the full name of the trigger's type.
pub(super) fn walk(from: StateKind, on: &'static str, to: StateKind) {
    let on = on.rsplit("::").next().unwrap_or(on);
    WALKED.with_borrow_mut(|walked| walked.push(EdgeRow { from, on, to }));
}

/// The moves of this thread's runs since the last call.
#[must_use]
pub fn take_walked() -> Vec<EdgeRow> {
    WALKED.take()
}
