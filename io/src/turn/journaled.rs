//! A machine whose inputs are written into a journal.

use crate::app::journal::JournalSink;
use crate::durable::{last_of, revive_stored};
use std::sync::Arc;
use stepwell_core::journal::JournalWriter;
use stepwell_core::run::{Input, Misuse, Output, RunConfig, RunMachine, SnapshotError};
use stepwell_core::session::Turn;
use stepwell_core::transcript::Transcript;
use stepwell_core::{RunId, ThreadId, Timestamp};

/// A machine, and its journal if the agent writes one.
#[derive(Debug)]
pub(crate) struct JournaledRun {
    pub(crate) machine: RunMachine,
    journal: Option<Journal>,
}

struct Journal {
    writer: JournalWriter,
    sink: Arc<dyn JournalSink>,
    turn: RunId,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

impl Journal {
    fn flush(&mut self) {
        let lines = self.writer.take_lines();
        if !lines.is_empty() {
            self.sink.write(&self.turn, &lines);
        }
    }
}

impl JournaledRun {
    pub(crate) fn new(
        config: &Arc<RunConfig>,
        thread_id: &ThreadId,
        history: Transcript,
        sink: Option<&Arc<dyn JournalSink>>,
        turn: &RunId,
    ) -> Self {
        let journal = sink.map(|sink| Journal {
            writer: JournalWriter::new(config, thread_id, &history),
            sink: Arc::clone(sink),
            turn: turn.clone(),
        });
        Self {
            machine: RunMachine::new(Arc::clone(config), thread_id.clone(), history),
            journal,
        }
    }

    /// Revives a stored run on this host, in a journal of its own.
    pub(crate) fn revive(
        snapshot: &str,
        config: &Arc<RunConfig>,
        sink: Option<&Arc<dyn JournalSink>>,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        let machine = RunMachine::revive(snapshot, Arc::clone(config), now)?;
        let Some(sink) = sink else {
            return Ok(Self {
                machine,
                journal: None,
            });
        };
        let thread_id = machine.thread_id().cloned().unwrap_or_default();
        let turn = machine.run_id().cloned().unwrap_or_default();
        let mut writer = JournalWriter::of_stored(config, &thread_id);
        Ok(Self {
            machine: writer.revive(snapshot, config, now)?,
            journal: Some(Journal {
                writer,
                sink: Arc::clone(sink),
                turn,
            }),
        })
    }

    /// Revives the run of the last turn on a path, from its checkpoint, in a journal of its own.
    pub(crate) fn revive_stored(
        checkpoint: &str,
        path: &[Turn],
        config: &Arc<RunConfig>,
        sink: Option<&Arc<dyn JournalSink>>,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        let (turn, history) = last_of(path)?;
        let Some(sink) = sink else {
            return Ok(Self {
                machine: revive_stored(checkpoint, path, config, now)?,
                journal: None,
            });
        };
        let again = || revive_stored(checkpoint, path, config, now);
        let thread_id = again()?.thread_id().cloned().unwrap_or_default();
        let mut writer = JournalWriter::of_stored(config, &thread_id);
        let machine = match writer.revive_from(checkpoint, history, turn, config, now) {
            Err(SnapshotError::IsSnapshot) => writer.revive(checkpoint, config, now),
            revived => revived,
        };
        Ok(Self {
            machine: machine?,
            journal: Some(Journal {
                writer,
                sink: Arc::clone(sink),
                turn: turn.id.clone(),
            }),
        })
    }

    pub(crate) fn handle(&mut self, input: Input<'_>, now: Timestamp) -> Result<(), Misuse> {
        let Some(journal) = &mut self.journal else {
            return self.machine.handle(input, now);
        };
        journal.writer.input(&input, now);
        // The input is written before the machine handles it, so that the journal has the input that caused a panic.
        journal.flush();
        let result = self.machine.handle(input, now);
        journal.writer.handled(&result);
        result
    }

    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        let Some(journal) = &mut self.journal else {
            return self.machine.poll_output();
        };
        let output = journal.writer.poll_output(&mut self.machine);
        if output.is_none() {
            journal.flush();
        }
        output
    }

    pub(crate) fn end(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.writer.end(&self.machine);
            journal.flush();
        }
    }
}
