//! What observes the turns of a server, and what records them.

use std::fmt::Debug;
use stepwell_core::event::Event;
use stepwell_io::host::JournalSink;
use stepwell_io::store::TurnKey;

/// Observes the runs that are driven here: for metrics.
pub trait Observer: Debug + Send + Sync {
    /// Observes the beginning of a run.
    fn begun(&self) -> Box<dyn RunObserver>;
}

/// Observes one run. An observer may be dropped without the end of its run.
pub trait RunObserver: Send + Sync {
    /// Observes the end of the run, before its client does.
    fn ended(self: Box<Self>, end: &Event);
}

/// Keeps the journals of turns.
pub trait Journals: Debug + Send + Sync {
    /// Returns what takes the journal of a turn that is driven here from now on.
    fn record(&self, turn: &TurnKey) -> Box<dyn JournalSink>;
}
