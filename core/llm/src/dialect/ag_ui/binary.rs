//! Frames in protobuf, if the feature of that name is on.

use super::enforcement::Warnings;
use crate::dialect::DecodeError;
use crate::event::EventRef;
#[cfg(feature = "protobuf")]
use crate::event::protobuf::{self, Envelope};
use serde_json::Value;

/// Returns the event of a frame as JSON; `None` for a kind that is newer than AG-UI 1.0.
#[cfg(feature = "protobuf")]
pub(super) fn event(data: &[u8], warnings: &mut Warnings) -> Result<Option<Value>, DecodeError> {
    match protobuf::read(data)? {
        Envelope::Unknown => {
            warnings.push("dropped an event: its kind is newer than AG-UI 1.0");
            Ok(None)
        }
        Envelope::Known {
            event,
            is_of_declared_type,
        } => {
            if !is_of_declared_type {
                let kind = event.get("type").and_then(Value::as_str);
                warnings.push(format!(
                    "{}: the base event gives another type than the envelope; the envelope counts",
                    kind.unwrap_or_default()
                ));
            }
            Ok(Some(Value::Object(event)))
        }
    }
}

/// Returns the delta that a frame is, if it is one.
#[cfg(feature = "protobuf")]
pub(super) fn delta(data: &[u8]) -> Option<EventRef<'_>> {
    protobuf::read_delta(data)
}

/// Refuses a frame: the run comes from a build that reads protobuf.
#[cfg(not(feature = "protobuf"))]
pub(super) fn event(_: &[u8], _: &mut Warnings) -> Result<Option<Value>, DecodeError> {
    Err(super::decode::json_error(
        &"the stream is in protobuf, and this build has no feature `protobuf`",
    ))
}

/// Returns nothing: [`event`] refuses the frame.
#[cfg(not(feature = "protobuf"))]
pub(super) fn delta(_: &[u8]) -> Option<EventRef<'_>> {
    None
}
