//! The binary encoding of events: `application/vnd.ag-ui.event+proto`.
//!
//! A stream is a row of frames ([`LengthPrefixedFramer`](crate::wire::LengthPrefixedFramer)): the length as four bytes,
//! the most significant first, and one message. JSON values ride as `google.protobuf.Value`, which knows no integers:
//! one beyond ±2^53 loses its last digits. Fields that AG-UI 1.0 does not know have no place in it and are left out.
//!
//! ```
//! use stepwell_agui::event::{Event, protobuf};
//!
//! let event: Event = serde_json::from_str(r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#)?;
//! let bytes = protobuf::encode((&event).into())?;
//! assert_eq!(protobuf::decode(&bytes)?, event);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: AG-UI 1.0 (transports), and `@ag-ui/proto` 1.0.0.

mod read;
mod table;
mod write;

// For Stepwell's other crates, which read an event in steps. They are hidden because they may change in any release.
#[doc(hidden)]
pub use read::{Envelope, read, read_delta};

use super::{Event, EventError, EventRef};

/// The media type of a stream of events in protobuf.
pub const MEDIA_TYPE: &str = "application/vnd.ag-ui.event+proto";

/// The reason why bytes are not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ProtobufError {
    /// The bytes are not a protobuf message of the envelope's form.
    #[error("not an AG-UI event in protobuf: {reason}")]
    Malformed {
        /// The error.
        reason: String,
    },
    /// The event is of a type that this version does not know. Protobuf does not carry the type's name.
    #[error("an AG-UI event in protobuf of a kind that this version does not know")]
    UnknownEvent,
    /// The event's fields are not what the protocol has.
    #[error(transparent)]
    Event(#[from] EventError),
}

/// The reason why an event cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EncodeError {
    /// The event is of a type that this version does not know, and protobuf cannot carry it.
    #[error("{kind} has no form in protobuf: AG-UI 1.0 does not know it (send JSON instead)")]
    Unknown {
        /// The event's `type`.
        kind: String,
    },
    /// The event is too large for a frame.
    #[error("an event of {length} bytes is too large for a frame: a frame holds at most 4 GiB")]
    TooLarge {
        /// The length of its message, in bytes.
        length: usize,
    },
}

/// Encodes an event as a protobuf message, without the length prefix.
///
/// # Errors
/// The event is of a type that this version does not know.
pub fn encode(event: EventRef<'_>) -> Result<Vec<u8>, EncodeError> {
    let mut message = Vec::new();
    write::event(event, &mut message)?;
    Ok(message)
}

/// Appends an event to `out` as a frame: the length and the message.
///
/// # Errors
/// The event is of a type that this version does not know, or too large. `out` is then unchanged.
pub fn encode_frame(event: EventRef<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let written = write::event(event, out).and_then(|()| {
        let length = out.len() - start - 4;
        u32::try_from(length).map_err(|_| EncodeError::TooLarge { length })
    });
    match written {
        Ok(length) => {
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// Decodes an event from a protobuf message without the length prefix.
///
/// # Errors
/// The bytes are not an event, or an event that this version does not know.
pub fn decode(message: &[u8]) -> Result<Event, ProtobufError> {
    match read(message)? {
        Envelope::Known { event, .. } => Ok(Event::from_object(event)?),
        Envelope::Unknown => Err(ProtobufError::UnknownEvent),
    }
}
