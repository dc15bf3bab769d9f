use std::sync::Arc;
use std::time::Duration;
use stepwell_core::RunId;
use stepwell_core::run::RunEvent;

/// Watches a turn: it is told of each event at once, however slowly the app takes them. For metrics, say. Dropped when
/// the turn is over, or let go of.
pub trait TurnObserver: Send + 'static {
    /// The turn says something.
    fn event(&mut self, event: &RunEvent);

    /// The conversation was made of stored turns, before the first event; how long that took.
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
