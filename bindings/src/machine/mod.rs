//! The sans-IO API.

mod inputs;
mod reading;
mod start;
mod timer;

pub(crate) use start::conversation;
pub use start::{ResumeEntry, ResumeStatus, Start};
#[cfg(feature = "agent")]
pub(crate) use start::{any_json, entries, parse_message, parse_parts};
pub use timer::TimerKey;

use crate::config::RunConfig;
use crate::effect::{Effect, Outputs};
use crate::error::StepwellError;
use crate::event::Event;
use crate::json_value::JsonValue;
use crate::time::Timestamp;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::ThreadId;
use stepwell_core::journal::JournalWriter;
use stepwell_core::run::{self, EffectId, Input, Output};

/// A turn without any IO: the app owns the network, the tools, the clock and the store.
///
/// Each input is one call, and each call gives back all that came of it in one batch: what to show and what to do. Carry
/// out each effect, and answer it by its id. Time is an argument. Call `timeout` when
/// `wake_at` of the latest batch has come.
///
/// The host's loop: `start`; for an `OpenStream` send the request and call `opened`, then `receive` for every piece of
/// the body, then `ended` (or `refused`, `connection_failed`, `lost`); for a `RunTool` run the tool and call
/// `tool_finished` or `tool_failed`; until an event `Completed` comes.
///
/// A tool whose result comes in minutes or days answers with `tool_deferred`. Once `is_resting` says so, store the
/// snapshot and let go of the run; `revive` it when the result is there, ask `awaited_result` for the effect, and call
/// `tool_finished`.
///
/// What the device does, say at any time: `entered_background`, `network_lost` and their opposites. An app that goes
/// away calls `dispose`, and carries out what that gives.
#[derive(Debug, uniffi::Object)]
pub struct RunMachine {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Nothing once a call has panicked: what it left cannot be trusted.
    machine: Option<run::RunMachine>,
    /// Outlives the machine: what broke it is in it.
    journal: Option<JournalWriter>,
    /// Outputs that came of no input: those of a restore.
    held: Outputs,
}

#[uniffi::export]
impl RunMachine {
    /// A run that is ready to start, on a conversation as it stands.
    ///
    /// `history` is a JSON array of AG-UI messages, oldest first; `shared_state` the state shared with an AG-UI
    /// agent: any JSON.
    /// With `journal` all inputs are written down, for `take_journal`.
    #[uniffi::constructor(default(history = None, shared_state = None, journal = false))]
    pub fn new(
        config: RunConfig,
        thread_id: String,
        history: Option<JsonValue>,
        shared_state: Option<JsonValue>,
        journal: bool,
    ) -> Result<Arc<Self>, StepwellError> {
        let history = conversation(history, shared_state)?;
        let config = Arc::new(config.into_core()?);
        let thread_id = ThreadId::from(thread_id);
        let journal = journal.then(|| JournalWriter::new(&config, &thread_id, &history));
        let machine = run::RunMachine::new(config, thread_id, history);
        Ok(Self::with_journal(machine, journal))
    }

    /// A stored run in the same process, which was suspended and goes on: what the app was given to do, it still does.
    /// Take `poll_outputs` first.
    #[uniffi::constructor]
    pub fn restore(snapshot: &str, config: RunConfig) -> Result<Arc<Self>, StepwellError> {
        let config = Arc::new(config.into_core()?);
        guard(|| Ok(run::RunMachine::restore(snapshot, config)?)).map(Self::of)
    }

    /// A stored run whose process died. A request that had shown nothing goes out again; a stream that was open is
    /// resumed where the server can, else what was shown of the answer stays, marked as cut, and it is asked for anew; a
    /// tool that had begun is run again only if it says that it is idempotent, and else the model is told that its outcome
    /// is unknown. `DevicePolicy.killed` may end the turn instead. Take `poll_outputs` first. With `journal` all further
    /// inputs are written down, in a journal of their own.
    #[uniffi::constructor(default(journal = false))]
    pub fn revive(
        snapshot: &str,
        config: RunConfig,
        now: Timestamp,
        journal: bool,
    ) -> Result<Arc<Self>, StepwellError> {
        let config = Arc::new(config.into_core()?);
        let now = now.into();
        guard(|| {
            let machine = run::RunMachine::revive(snapshot, Arc::clone(&config), now)?;
            if !journal {
                return Ok(Self::of(machine));
            }
            let thread_id = machine.thread_id().cloned().unwrap_or_default();
            let mut journal = JournalWriter::of_stored(&config, &thread_id);
            let machine = journal.revive(snapshot, &config, now)?;
            Ok(Self::with_journal(machine, Some(journal)))
        })
    }
}

impl RunMachine {
    fn of(machine: run::RunMachine) -> Arc<Self> {
        Self::with_journal(machine, None)
    }

    fn with_journal(machine: run::RunMachine, journal: Option<JournalWriter>) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                machine: Some(machine),
                journal,
                held: Outputs::default(),
            }),
        })
    }

    /// Panics are caught while the lock is held, so a poisoned one is no more broken than `machine` says.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, input: Input<'_>, now: Timestamp) -> Result<Outputs, StepwellError> {
        let mut inner = self.lock();
        inner.attempt(|machine, journal, held| {
            // The core wants its outputs taken before the next input.
            drain(machine, journal, held);
            let now = now.into();
            match journal {
                Some(journal) => journal.handle(machine, input, now)?,
                None => machine.handle(input, now)?,
            }
            Ok(())
        })
    }

    /// How the run is set up.
    fn config(&self) -> Result<Arc<run::RunConfig>, StepwellError> {
        let config = self.read(|machine| machine.config().cloned()).flatten();
        config.ok_or_else(broken)
    }

    /// Nothing if the run is broken.
    fn read<T>(&self, look: impl FnOnce(&run::RunMachine) -> T) -> Option<T> {
        let inner = self.lock();
        let machine = inner.machine.as_ref()?;
        guard(|| Ok(look(machine))).ok()
    }
}

impl Inner {
    fn attempt(
        &mut self,
        step: impl FnOnce(
            &mut run::RunMachine,
            &mut Option<JournalWriter>,
            &mut Outputs,
        ) -> Result<(), StepwellError>,
    ) -> Result<Outputs, StepwellError> {
        let Self {
            machine,
            journal,
            held,
        } = self;
        let running = machine.as_mut().ok_or_else(broken)?;
        let result = guard(|| {
            step(running, journal, held)?;
            drain(running, journal, held);
            held.wake_at = running.poll_timeout().map(Into::into);
            Ok(std::mem::take(held))
        });
        if let Err(StepwellError::Broken { .. }) = result {
            *machine = None;
        }
        result
    }
}

fn broken() -> StepwellError {
    StepwellError::broken(&"the run broke in an earlier call")
}

/// Runs the core's code; a panic in it is an error.
pub(crate) fn guard<T>(
    work: impl FnOnce() -> Result<T, StepwellError>,
) -> Result<T, StepwellError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(StepwellError::panicked(&*panic)))
}

fn drain(
    machine: &mut run::RunMachine,
    journal: &mut Option<JournalWriter>,
    outputs: &mut Outputs,
) {
    let mut next = || match journal {
        Some(journal) => journal.poll_output(machine),
        None => machine.poll_output(),
    };
    while let Some(output) = next() {
        match output {
            Output::Event(event) => outputs.events.push(Event::from(event)),
            Output::Effect(id, effect) => outputs.effects.push(Effect::new(id, effect)),
        }
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
