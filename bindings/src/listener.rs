use crate::error::CallbackError;
use crate::event::Event;

/// Receives the events of a turn, for apps that prefer callbacks to polling.
#[uniffi::export(foreign)]
pub trait Listener: Send + Sync {
    /// Takes the events since the last call, in order. Called on a thread of Stepwell's, never twice at once. An
    /// exception here is logged and otherwise ignored: the turn continues.
    fn on_events(&self, events: Vec<Event>) -> Result<(), CallbackError>;
}
