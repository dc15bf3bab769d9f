//! Media that the model made, as an answer has them.

use super::Sink;
use crate::MessageId;
use crate::event::{
    ActivitySnapshot, ContentPart, Event, EventRef, MEDIA_ACTIVITY, Violation, media_content,
};

/// Shows a part that the model made.
pub(super) fn show(
    message_id: MessageId,
    part: &ContentPart,
    sink: &mut dyn Sink,
) -> Result<(), Violation> {
    let event = Event::from(ActivitySnapshot {
        message_id,
        activity_type: MEDIA_ACTIVITY.to_owned(),
        content: media_content(part),
        ..ActivitySnapshot::default()
    });
    sink.event(EventRef::Whole(&event))
}
