use crate::error::CallbackError;
use crate::event::Event;

/// Is told what happens in a turn: for apps that would rather be called than ask.
#[uniffi::export(foreign)]
pub trait Listener: Send + Sync {
    /// The events that came since the last call, in order. Called on a thread of Stepwell's, never twice at once. An
    /// exception here is logged and otherwise passed over: the turn goes on.
    fn on_events(&self, events: Vec<Event>) -> Result<(), CallbackError>;
}
