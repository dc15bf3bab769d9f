use super::compatibility::Compatibility;
use super::enforcement::{self, Warnings};
use crate::dialect::HopIds;
use crate::event::{Event, Metadata};

/// The first stages of the decoder: translates events of old agents to AG-UI 1.0, and drops content that 1.0 does not
/// know.
#[derive(Debug, Default)]
pub struct Boundary {
    compatibility: Compatibility,
    ids: HopIds,
}

impl Boundary {
    /// Reads an event, and returns whether it was translated; `None` if it is malformed.
    pub fn read(&mut self, mut object: Metadata) -> Option<(Event, bool)> {
        let mut translated = Warnings::default();
        self.compatibility
            .translate(&mut object, &self.ids, &mut translated);
        // The run drops what is unknown, after the app's functions have seen it.
        let unknown = enforcement::Unknown::Kept;
        enforcement::enforce(&mut object, unknown, &mut Warnings::default());
        let event = Event::from_object(object).ok()?;
        if let Event::RunStarted(start) = &event {
            // Items that old agents do not name are named after the run.
            self.ids.run_id = start.run_id.clone();
        }
        for message in &translated.texts {
            tracing::warn!(target: "stepwell", message, "the stream is odd");
        }
        Some((event, !translated.texts.is_empty()))
    }
}
