use super::EventRef;
use serde::{Deserialize, Serialize};

/// An event that may not come at this point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{rule}: {message}")]
pub struct Violation {
    /// The rule, O1 to O24.
    pub rule: String,
    /// What was broken.
    pub message: String,
}

/// Checks the order of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Order {}

/// Where a stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// No event yet.
    #[default]
    Fresh,
    /// A run is going on.
    Active,
    /// The run has finished.
    Finished,
    /// The run has failed.
    Errored,
}

impl Order {
    /// Checks one event.
    ///
    /// # Errors
    /// The event may not come now.
    pub fn check(&mut self, _event: EventRef<'_>) -> Result<(), Violation> {
        Ok(())
    }

    /// Where the stream stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        Phase::Fresh
    }
}
