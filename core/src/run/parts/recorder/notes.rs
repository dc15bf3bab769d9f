use super::StreamNotes;
use crate::ToolCallId;
use crate::event::{EncryptedValueSubtype, Event, EventRef};
use crate::transcript::{Applied, Transcript};

impl StreamNotes {
    /// Takes the notes since the last call, if there are any.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Self> {
        self.any.then(|| std::mem::take(self))
    }

    /// An event was applied.
    #[inline]
    pub(crate) fn applied(
        &mut self,
        event: EventRef<'_>,
        applied: &Applied,
        transcript: &Transcript,
    ) {
        let EventRef::Whole(event) = event else {
            return;
        };
        // The attached data counts all the same.
        if matches!(event, Event::ActivityDelta(_)) || !matches!(applied, Applied::Ignored(_)) {
            self.event(event, transcript);
        }
    }

    fn event(&mut self, event: &Event, transcript: &Transcript) {
        let owner = |call: &ToolCallId| transcript.owner(call).cloned();
        let touched = match event {
            Event::TextMessageEnd(event) => {
                self.finished.push(event.message_id.clone());
                None
            }
            Event::ReasoningMessageEnd(event) => {
                self.finished.push(event.message_id.clone());
                None
            }
            Event::TextMessageStart(event) => Some(event.message_id.clone()),
            Event::ReasoningMessageStart(event) => Some(event.message_id.clone()),
            Event::ToolCallStart(event) => owner(&event.tool_call_id),
            Event::ToolCallResult(event) => Some(event.message_id.clone()),
            Event::ActivitySnapshot(event) => Some(event.message_id.clone()),
            Event::ActivityDelta(event) => Some(event.message_id.clone()),
            Event::ReasoningEncryptedValue(event) => match event.subtype {
                EncryptedValueSubtype::Message => Some(event.entity_id.as_str().into()),
                EncryptedValueSubtype::ToolCall => owner(&event.entity_id.as_str().into()),
            },
            Event::StateSnapshot(_) | Event::StateDelta(_) => {
                self.state = true;
                None
            }
            Event::MessagesSnapshot(_) => None,
            _ => return,
        };
        self.any = true;
        self.touched.extend(touched);
    }
}
