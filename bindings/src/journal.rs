//! Journals: the inputs of a run as text, from which it can be replayed.

#[cfg(feature = "agent")]
use crate::error::CallbackError;
use crate::error::StepwellError;
use crate::guarded_run::guard;
use crate::outcome::Outcome;
use crate::state::StateKind;
#[cfg(feature = "agent")]
use std::sync::Arc;
use stepwell_core::journal::{Journal, JournalEnd, Replayed};

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct JournalReplay {
    /// How many inputs there were, including a machine's revival.
    pub inputs: u64,
    /// The ids of the effects in the order in which they were emitted.
    pub effects: Vec<String>,
    /// How many events there were.
    pub events: u64,
    /// The states that the run went through.
    pub states: Vec<StateKind>,
    /// How the turn ended, if it did.
    pub outcome: Option<Outcome>,
    /// The digest of the run's state at the end: `RunMachine.digest`.
    pub digest: String,
    /// Whether the journal was closed by `RunMachine.end_journal`; if not, its host stopped during the run.
    pub is_closed: bool,
}

/// Replays a journal: the same inputs must lead to the same states, outputs and end. A text that is no journal, a
/// redacted journal, and a run that differs from its journal, are each a `Journal` error, which names the place.
#[uniffi::export]
pub fn replay_journal(journal: &str) -> Result<JournalReplay, StepwellError> {
    guard(|| {
        let replayed = parse(journal)?.replay().map_err(|divergence| {
            let advice = "the library has changed since, or the journal was: replay it with the version that wrote it";
            StepwellError::journal(&divergence, advice)
        })?;
        Ok(replayed.into())
    })
}

/// Returns the journal with its texts hidden, to be sent with a report. It keeps the structure of the run: the entries
/// with their times, the states, the names of the outputs and of the tools, and the sizes of what is hidden. It cannot
/// be replayed.
#[uniffi::export]
pub fn redact_journal(journal: &str) -> Result<String, StepwellError> {
    guard(|| Ok(parse(journal)?.redact()))
}

fn parse(text: &str) -> Result<Journal, StepwellError> {
    Journal::parse(text).map_err(|error| {
        StepwellError::journal(&error, "give all lines of one journal, as they were taken")
    })
}

impl From<Replayed> for JournalReplay {
    fn from(replayed: Replayed) -> Self {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let effects = replayed.effects.iter();
        Self {
            inputs: count(replayed.inputs),
            effects: effects.map(ToString::to_string).collect(),
            events: count(replayed.events),
            states: replayed.states.into_iter().map(Into::into).collect(),
            outcome: replayed.outcome.map(Into::into),
            digest: replayed.digest.to_string(),
            is_closed: matches!(replayed.ending, JournalEnd::Closed(_)),
        }
    }
}

/// Takes the journals of an agent's turns: one that appends them to files, say.
#[cfg(feature = "agent")]
#[uniffi::export(foreign)]
pub trait JournalSink: Send + Sync {
    /// Takes complete lines of the journal of `turn`, each as soon as it is known. Called on the thread that drives the
    /// turn, so this method should return quickly; a failure is logged, and the turn continues. A journal holds the
    /// whole conversation, but no key.
    fn write(&self, turn: String, lines: String) -> Result<(), CallbackError>;
}

/// The app's sink, as the driver calls it.
#[cfg(feature = "agent")]
pub(crate) struct Sink(pub(crate) Arc<dyn JournalSink>);

#[cfg(feature = "agent")]
impl stepwell_io::host::JournalSink for Sink {
    fn write(&self, turn: &stepwell_core::RunId, lines: &str) {
        if let Err(error) = self.0.write(turn.to_string(), lines.to_owned()) {
            tracing::warn!(target: "stepwell", %error, "the app did not take lines of a journal");
        }
    }
}
