//! The sans-IO API.

mod inputs;
mod reading;
mod start;
mod timer;

pub(crate) use start::transcript;
pub use start::{ResumeEntry, ResumeStatus, Start};
#[cfg(feature = "agent")]
pub(crate) use start::{any_json, entries, parse_message, parse_parts};
pub use timer::TimerKey;

use crate::config::RunConfig;
use crate::effect::{Effect, Outputs};
use crate::error::StepwellError;
use crate::event::Event;
use crate::guarded_run::GuardedRun;
use crate::json_value::JsonValue;
use crate::session::TurnRecord;
use crate::time::Timestamp;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::run::{self, EffectId, Input, Output};

/// A turn without any IO: the app owns the network, the tools, the clock and the store.
///
/// Each input is one call, and each call returns all of its outputs in one batch: what to show and what to do. Carry
/// out each effect, and answer it by its id. Time is an argument. Call `timeout` when `wake_at` of the latest batch has
/// come.
///
/// The host's loop: `start`; for an `OpenStream` send the request and call `opened`, then `receive` for every chunk of
/// the body, then `ended` (or `refused`, `connection_failed`, `lost`); for a `RunTool` run the tool and call
/// `tool_finished` or `tool_failed`; until an event `Completed` comes.
///
/// A tool whose result comes in minutes or days answers with `tool_deferred`. Once `is_resting` returns `true`, store
/// the snapshot and release the run; `revive` the run when the result is there, ask `awaited_result` for the effect,
/// and call `tool_finished`.
///
/// Changes of the device may be reported at any time: `entered_background`, `network_lost` and their opposites. An app
/// that goes away calls `dispose`, and carries out the resulting effects.
#[derive(Debug, uniffi::Object)]
pub struct RunMachine {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    run: GuardedRun,
    /// Outputs without an input, or of an input that was refused.
    held: Outputs,
}

#[uniffi::export]
impl RunMachine {
    /// Creates a run that is ready to start, on an existing conversation.
    ///
    /// `history` is a JSON array of AG-UI messages, oldest first; `shared_state` the state shared with an AG-UI agent:
    /// any JSON. With `journal` all inputs are recorded, for `take_journal`.
    #[uniffi::constructor(default(history = None, shared_state = None, journal = false))]
    pub fn new(
        config: RunConfig,
        thread_id: String,
        history: Option<JsonValue>,
        shared_state: Option<JsonValue>,
        journal: bool,
    ) -> Result<Arc<Self>, StepwellError> {
        let history = transcript(history, shared_state)?;
        let config = Arc::new(config.into_core()?);
        let run = GuardedRun::new(config, thread_id.into(), history, journal);
        Ok(Self::of(run))
    }

    /// Restores a run that was suspended and continues in the same process: the app still carries out the effects that
    /// it has received. Take `poll_outputs` first.
    #[uniffi::constructor]
    pub fn restore(snapshot: &str, config: RunConfig) -> Result<Arc<Self>, StepwellError> {
        let config = Arc::new(config.into_core()?);
        GuardedRun::restore(snapshot, config).map(Self::of)
    }

    /// Revives a stored run whose process died. A request that had shown nothing is sent again. A stream that was open
    /// is resumed where the server can; if not, what was shown of the answer stays, marked as cut, and the answer is
    /// asked for again. A tool that had begun is run again only if it is idempotent; for other tools the model is
    /// informed that the outcome is unknown. `DevicePolicy.killed` may end the turn instead. Take `poll_outputs` first.
    /// With `journal` all further inputs are recorded, in a journal of their own.
    #[uniffi::constructor(default(journal = false))]
    pub fn revive(
        snapshot: &str,
        config: RunConfig,
        now: Timestamp,
        journal: bool,
    ) -> Result<Arc<Self>, StepwellError> {
        let config = Arc::new(config.into_core()?);
        GuardedRun::revive(snapshot, &config, now.into(), journal).map(Self::of)
    }

    /// Revives a stored run whose process died, as `revive` does, from a store's data: the newest `checkpoint` of the
    /// `turn`, and the `turns` of its thread, or only those on the path to it. Read all of them at one time: a turn
    /// with more blocks than were stored with its checkpoint, or with fewer, is refused.
    #[uniffi::constructor(default(journal = false))]
    pub fn revive_from(
        checkpoint: &str,
        turns: Vec<TurnRecord>,
        turn: &str,
        config: RunConfig,
        now: Timestamp,
        journal: bool,
    ) -> Result<Arc<Self>, StepwellError> {
        let config = Arc::new(config.into_core()?);
        let turns = stored_turns(turns)?;
        let now = now.into();
        GuardedRun::revive_from(checkpoint, turns, turn, &config, now, journal).map(Self::of)
    }
}

/// Converts stored turns to the core's form.
fn stored_turns(
    turns: Vec<TurnRecord>,
) -> Result<Vec<stepwell_core::session::Turn>, StepwellError> {
    let turns = turns
        .into_iter()
        .map(stepwell_core::session::Turn::try_from);
    turns
        .collect::<Result<_, _>>()
        .map_err(|reason| StepwellError::Snapshot {
            reason,
            advice: "give the turns as they were given to be stored".to_owned(),
        })
}

impl RunMachine {
    fn of(run: GuardedRun) -> Arc<Self> {
        let held = Outputs::default();
        Arc::new(Self {
            inner: Mutex::new(Inner { run, held }),
        })
    }

    /// A poisoned lock is safe to use: panics are caught while the lock is held, and the run records that it broke.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, input: Input<'_>, now: Timestamp) -> Result<Outputs, StepwellError> {
        self.outputs(Some((input, now.into())))
    }

    fn outputs(
        &self,
        input: Option<(Input<'_>, stepwell_core::Timestamp)>,
    ) -> Result<Outputs, StepwellError> {
        let Inner { run, held } = &mut *self.lock();
        let wake_at = run.handle(input, |output| match output {
            Output::Event(event) => held.events.push(Event::from(event)),
            Output::Effect(id, effect) => held.effects.push(Effect::new(id, effect)),
            // No configuration of the bindings asks for this output.
            Output::Moved(_) => {}
        })?;
        held.wake_at = wake_at.map(Into::into);
        Ok(std::mem::take(held))
    }

    /// Reads the run; returns none if the run is broken.
    fn read<T>(&self, look: impl FnOnce(&run::RunMachine) -> T) -> Option<T> {
        self.lock().run.read(look).ok()
    }
}

fn id(effect: &str) -> Result<EffectId, StepwellError> {
    effect.parse().map_err(|error| {
        StepwellError::invalid(
            &error,
            "an effect's id is the `id` of the effect, unchanged",
        )
    })
}

#[cfg(test)]
mod tests;
