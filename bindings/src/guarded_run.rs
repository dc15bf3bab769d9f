//! A run with its journal, guarded so that a panic breaks only the run.

use crate::error::StepwellError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use stepwell_core::journal::JournalWriter;
use stepwell_core::run::{Input, Output, RunConfig, RunMachine, SnapshotError};
use stepwell_core::session::{MessageBuilder, SessionError, Turn, TurnTree};
use stepwell_core::transcript::Transcript;
use stepwell_core::{ThreadId, Timestamp};

/// A run, and the journal of its inputs if one is written. A panic within a call makes that call, and every later one,
/// fail.
#[derive(Debug)]
pub struct GuardedRun {
    /// None once a call has panicked: the machine's state cannot be trusted then.
    machine: Option<RunMachine>,
    /// Outlives the machine: the journal holds the input that broke it.
    journal: Option<JournalWriter>,
}

impl GuardedRun {
    /// Creates a run that is ready to start, on an existing conversation.
    #[must_use]
    pub fn new(
        config: Arc<RunConfig>,
        thread_id: ThreadId,
        history: Transcript,
        has_journal: bool,
    ) -> Self {
        let journal = has_journal.then(|| JournalWriter::new(&config, &thread_id, &history));
        Self {
            machine: Some(RunMachine::new(config, thread_id, history)),
            journal,
        }
    }

    /// Restores a stored run that continues in the same process.
    ///
    /// # Errors
    /// The text is no snapshot, or not of such a run.
    pub fn restore(snapshot: &str, config: Arc<RunConfig>) -> Result<Self, StepwellError> {
        let machine = guard(|| Ok(RunMachine::restore(snapshot, config)?))?;
        Ok(Self {
            machine: Some(machine),
            journal: None,
        })
    }

    /// Revives a stored run whose process died. A journal begins with the run.
    ///
    /// # Errors
    /// The text is no snapshot, or not of such a run.
    pub fn revive(
        snapshot: &str,
        config: &Arc<RunConfig>,
        now: Timestamp,
        has_journal: bool,
    ) -> Result<Self, StepwellError> {
        guard(|| {
            let mut machine = RunMachine::revive(snapshot, Arc::clone(config), now)?;
            let mut journal = None;
            if has_journal {
                let thread_id = machine.thread_id().cloned().unwrap_or_default();
                let mut writer = JournalWriter::of_stored(config, &thread_id);
                machine = writer.revive(snapshot, config, now)?;
                journal = Some(writer);
            }
            Ok(Self {
                machine: Some(machine),
                journal,
            })
        })
    }

    /// Revives a stored run whose process died, from a store's data: the checkpoint, and the turns of the thread, or
    /// only those on the path to its `turn`. A journal begins with the run.
    ///
    /// # Errors
    /// The text is no checkpoint, or does not fit the turns.
    pub fn revive_from(
        checkpoint: &str,
        turns: Vec<Turn>,
        turn: &str,
        config: &Arc<RunConfig>,
        now: Timestamp,
        has_journal: bool,
    ) -> Result<Self, StepwellError> {
        guard(|| {
            let tree = TurnTree::new(turns).map_err(SnapshotError::Blocks)?;
            let mut path = tree.path_to(turn).map_err(SnapshotError::Blocks)?;
            let Some(turn) = path.pop() else {
                let turn = turn.into();
                return Err(SnapshotError::Blocks(SessionError::UnknownTurn { turn }).into());
            };
            let history = MessageBuilder::new().transcript(path);
            let history = history.map_err(SnapshotError::Blocks)?;
            let revive = |history| {
                RunMachine::revive_from(checkpoint, history, turn, Arc::clone(config), now)
            };
            let mut journal = None;
            let machine = if has_journal {
                let machine = revive(history.clone())?;
                let thread_id = machine.thread_id().cloned().unwrap_or_default();
                let mut writer = JournalWriter::of_stored(config, &thread_id);
                let machine = writer.revive_from(checkpoint, history, turn, config, now)?;
                journal = Some(writer);
                machine
            } else {
                revive(history)?
            };
            Ok(Self {
                machine: Some(machine),
                journal,
            })
        })
    }

    /// Passes the run an input, if there is one, takes the pending outputs and those of the input, and returns when the
    /// run wants to be woken.
    ///
    /// # Errors
    /// The call does not fit the state of the run, which is then unchanged. The pending outputs were taken all the
    /// same, and should reach the app with the next outputs. Or the run is broken.
    pub fn handle(
        &mut self,
        input: Option<(Input<'_>, Timestamp)>,
        mut take: impl FnMut(Output),
    ) -> Result<Option<Timestamp>, StepwellError> {
        let Self { machine, journal } = self;
        let running = machine.as_mut().ok_or_else(broken)?;
        let result = guard(|| {
            // The core wants its outputs taken before the next input.
            drain(running, journal, &mut take);
            if let Some((input, now)) = input {
                match journal {
                    Some(journal) => journal.handle(running, input, now)?,
                    None => running.handle(input, now)?,
                }
                drain(running, journal, &mut take);
            }
            Ok(running.poll_timeout())
        });
        if let Err(StepwellError::Broken { .. }) = result {
            *machine = None;
        }
        result
    }

    /// Reads the run.
    ///
    /// # Errors
    /// The run is broken, or the read panicked.
    pub fn read<T>(&self, look: impl FnOnce(&RunMachine) -> T) -> Result<T, StepwellError> {
        let machine = self.machine.as_ref().ok_or_else(broken)?;
        guard(|| Ok(look(machine)))
    }

    /// Returns how the run is configured.
    ///
    /// # Errors
    /// The run is broken.
    pub fn config(&self) -> Result<Arc<RunConfig>, StepwellError> {
        let config = self.read(|machine| machine.config().cloned())?;
        config.ok_or_else(broken)
    }

    /// Returns the run as text.
    ///
    /// # Errors
    /// The run is broken.
    pub fn snapshot(&mut self) -> Result<String, StepwellError> {
        let machine = self.machine.as_ref().ok_or_else(broken)?;
        guard(|| {
            Ok(match &mut self.journal {
                Some(journal) => journal.snapshot(machine),
                None => machine.snapshot(),
            })
        })
    }

    /// Returns what a store keeps of the run in addition to the turn's blocks, if it keeps any.
    ///
    /// # Errors
    /// The run is broken.
    pub fn checkpoint(&self) -> Result<Option<String>, StepwellError> {
        self.read(RunMachine::checkpoint)
    }

    /// Returns the lines of the journal since the last call; none without a journal.
    pub fn take_journal(&mut self) -> String {
        let journal = self.journal.as_mut();
        journal.map(JournalWriter::take_lines).unwrap_or_default()
    }

    /// Closes the journal, and returns its last lines. Later inputs are not recorded.
    pub fn end_journal(&mut self) -> String {
        let Some(mut journal) = self.journal.take() else {
            return String::new();
        };
        if let Some(machine) = &self.machine {
            journal.end(machine);
        }
        journal.take_lines()
    }
}

fn drain(
    machine: &mut RunMachine,
    journal: &mut Option<JournalWriter>,
    take: &mut impl FnMut(Output),
) {
    let mut next = || match journal {
        Some(journal) => journal.poll_output(machine),
        None => machine.poll_output(),
    };
    while let Some(output) = next() {
        take(output);
    }
}

fn broken() -> StepwellError {
    StepwellError::broken(&"the run broke in an earlier call")
}

/// Runs the core's code; a panic in it is an error.
///
/// # Errors
/// Those of the work, and [`StepwellError::Broken`] of a panic.
pub fn guard<T>(work: impl FnOnce() -> Result<T, StepwellError>) -> Result<T, StepwellError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(StepwellError::panicked(&*panic)))
}
