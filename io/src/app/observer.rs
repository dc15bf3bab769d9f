use std::sync::Arc;
use std::time::Duration;
use stepwell_core::RunId;
use stepwell_core::run::RunEvent;

/// Watches a turn: it gets each event at once, however slowly the app takes events. It is for metrics, say. It is
/// dropped when the turn is over or suspended.
pub trait TurnObserver: Send + 'static {
    /// Receives an event of the turn.
    fn event(&mut self, event: &RunEvent);

    /// Reports how long it took to rebuild the conversation from stored turns, before the first event.
    fn history_built(&mut self, took: Duration) {
        let _ = took;
    }
}

impl<F: FnMut(&RunEvent) + Send + 'static> TurnObserver for F {
    fn event(&mut self, event: &RunEvent) {
        self(event);
    }
}

/// Makes the observer of one turn.
pub(crate) type MakeObserver = Arc<dyn Fn(&RunId) -> Box<dyn TurnObserver> + Send + Sync>;
