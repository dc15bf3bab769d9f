//! A journal: all inputs of a run with their times, as JSON lines, from which the run can be replayed.
//!
//! The first line records how the run was set up: the configuration without any key, the thread, and the history at the
//! start. Each input is then a line, `{"at":…,"input":{…}}`, followed by a line with its result: the state, the names
//! of the outputs, and a digest of their content. A machine that was stored and restored has a line of its own,
//! `restored` or `revived`. The last line, `end`, is missing if the host stopped on the way, and the line before it may
//! be incomplete: the rest can still be replayed.
//!
//! [`JournalWriter`] writes a journal alongside a [`RunMachine`](crate::run::RunMachine); [`Journal::replay`] replays
//! it and reports where the run diverged. A journal holds all texts of the run: [`Journal::redact`] hides them, and
//! such a journal can no longer be replayed. [`Journal::to_full_text`] adds the requests, the events and the blocks,
//! for debugging.
//!
//! ```
//! use std::sync::Arc;
//! use stepwell_core::transcript::Transcript;
//! use stepwell_core::event::Message;
//! use stepwell_core::journal::{Journal, JournalWriter};
//! use stepwell_core::run::{Input, RunConfig, RunMachine, Start};
//! use stepwell_core::{Timestamp, provider};
//!
//! let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
//! let config = Arc::new(RunConfig::new(endpoint));
//! let history = Transcript::default();
//! let mut journal = JournalWriter::new(&config, &"thread-1".into(), &history);
//! let mut machine = RunMachine::new(config, "thread-1".into(), history);
//!
//! let start = Start::new("run-1", Message::user("message-1", "Hello"));
//! journal.handle(&mut machine, Input::Start(Box::new(start)), Timestamp(1))?;
//! while let Some(_output) = journal.poll_output(&mut machine) {} // carry it out
//! journal.handle(&mut machine, Input::Cancel, Timestamp(2))?;
//! while let Some(_output) = journal.poll_output(&mut machine) {}
//! journal.end(&machine);
//!
//! let text = journal.take_lines(); // to a file
//! let replayed = Journal::parse(&text)?.replay()?;
//! assert_eq!(replayed.inputs, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod digest;
mod format;
mod redact;
mod replay;
mod writer;

pub use digest::Digest;
pub use format::{
    Journal, JournalEnd, JournalEntry, JournalError, JournalStep, Restoration, SnapshotOrigin,
    StepOutputs,
};
pub use replay::{Divergence, Replayed};
pub use writer::JournalWriter;
