use crate::ui_message::UiMessageEncoder;
use stepwell_core::ToolCallId;
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::Event;

/// The format of a run's events.
#[derive(Debug)]
pub enum Format {
    /// AG-UI events, each as JSON.
    AgUi,
    /// The parts of the AI SDK's UI message stream, as frames of server-sent events.
    UiMessages(UiMessageEncoder),
}

impl Format {
    /// The event; empty if the format has nothing for it.
    pub(crate) fn write(&mut self, event: &Event) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::AgUi => serde_json::to_vec(event),
            Self::UiMessages(encoder) => {
                let mut frames = Vec::new();
                encoder.encode(event, &mut frames)?;
                Ok(frames)
            }
        }
    }

    /// Notes the final status of a call, whose result is reported next.
    pub(crate) fn note(&mut self, call: &ToolCallId, status: ToolCallStatus) {
        if let Self::UiMessages(encoder) = self {
            encoder.note(call, status);
        }
    }
}
