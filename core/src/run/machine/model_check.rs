//! Access for the model checker to the parts of a run. This is not part of the public interface, and may change at any
//! time.

pub use crate::run::abstraction::Abstraction;

use super::RunMachine;
use crate::Timestamp;
use crate::run::protocol::{Misuse, TimerKey};
use crate::run::states::any_run::AnyRun;
use crate::run::states::{Run, State};
use crate::run::turn::Turn;
use std::hash::Hasher;

/// Does the same in every state.
macro_rules! in_any_state {
    ($any:expr, $run:ident => $do:expr) => {
        match $any {
            AnyRun::Idle($run) => $do,
            AnyRun::Opening($run) => $do,
            AnyRun::Waiting($run) => $do,
            AnyRun::Summarizing($run) => $do,
            AnyRun::Streaming($run) => $do,
            AnyRun::Reviewing($run) => $do,
            AnyRun::Decoding($run) => $do,
            AnyRun::ExecutingTools($run) => $do,
            AnyRun::Interrupted($run) => $do,
            AnyRun::Completed($run) => $do,
        }
    };
}
impl RunMachine {
    /// Feeds the canonical form to a hasher: two runs of one form have the same future.
    pub fn canon(&self, abstraction: &Abstraction, out: &mut impl Hasher) {
        if let Some(run) = &self.run {
            in_any_state!(run, run => canon(run, abstraction, out));
        }
    }

    /// Lets a timer fire, whatever its time is. `false` if it does not run.
    ///
    /// # Errors
    /// As for [`handle`](Self::handle).
    pub fn fire_now(&mut self, timer: TimerKey, now: Timestamp) -> Result<bool, Misuse> {
        let run = self.run.as_mut().ok_or(Misuse::Broken)?;
        let turn = run.turn_mut();
        turn.tick(now);
        if !turn.clocks().runs(timer) {
            return Ok(false);
        }
        turn.clocks_mut().stop(timer);
        self.replace(|run| run.fire(timer, now).into())?;
        Ok(true)
    }

    /// Returns the timers that have expired.
    #[must_use]
    pub fn due_timers(&self, now: Timestamp) -> Vec<TimerKey> {
        self.timers()
            .into_iter()
            .filter(|(_, at)| *at <= now)
            .map(|(key, _)| key)
            .collect()
    }

    /// Returns the timers that are not paused.
    #[must_use]
    pub fn running_timers(&self) -> Vec<TimerKey> {
        let turn = self.read_turn();
        let paused = turn.is_some_and(|turn| turn.clocks().paused_at().is_some());
        let mut timers: Vec<_> = self.timers().into_iter().map(|(timer, _)| timer).collect();
        timers.retain(|timer| !(paused && timer.stops_in_background()));
        timers
    }

    /// Returns the number of blocks that the run knows to be stored.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.read_turn().map_or(0, Turn::durable)
    }

    /// Returns whether the turn's clock is stopped and will continue.
    #[must_use]
    pub fn is_turn_clock_paused(&self) -> bool {
        let turn = self.read_turn();
        turn.is_some_and(|turn| turn.clocks().turn_left().is_some())
    }
}

fn canon<S: State>(run: &Run<S>, abstraction: &Abstraction, out: &mut impl Hasher) {
    // No state keeps a block's number; the only time is that of a `Retry-After`, which no peer here sends.
    run.turn().canon(S::KIND, run.state(), abstraction, out);
}
