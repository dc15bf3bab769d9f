//! The app's code that receives the journals of turns.

use stepwell_core::RunId;

/// Receives the lines of the agent's journals, one journal a turn, each line at once: a closure that appends them to a
/// file, say. It is called on the thread that drives the turn, so it must be quick.
pub trait JournalSink: Send + Sync + 'static {
    /// Receives complete lines of the journal of `turn`.
    fn write(&self, turn: &RunId, lines: &str);
}

impl<F: Fn(&RunId, &str) + Send + Sync + 'static> JournalSink for F {
    fn write(&self, turn: &RunId, lines: &str) {
        self(turn, lines);
    }
}
