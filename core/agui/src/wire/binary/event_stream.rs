//! Messages of `application/vnd.amazon.eventstream`.

use super::super::{Frame, WireError};
use super::message::{Lengths, Message, PRELUDE};
use super::{BinaryForm, BinaryFramer};

/// A framer for the event streams of AWS: binary messages, each with its length, headers, a payload, and two checksums.
///
/// Source: <https://smithy.io/2.0/aws/amazon-eventstream.html>.
///
/// A message becomes a [`Frame`]:
///
/// | `:message-type` | [`event`](Frame::event) | [`data`](Frame::data) | [`is_failure`](Frame::is_failure) |
/// |---|---|---|---|
/// | `event`, another one, or none | `:event-type` | the payload | `false` |
/// | `exception` | `:exception-type` | the payload | `true` |
/// | `error` | `:error-code` | `:error-message` | `true` |
///
/// The complete message must not exceed [`FrameLimits::event`](crate::wire::FrameLimits::event), its headers 128 KiB, and
/// their number 256. The lengths are checked, by their own checksum too, before any more of the message is held.
///
/// ```
/// use stepwell_agui::wire::{EventStreamFramer, FrameLimits, MessageFault, WireError};
///
/// let mut framer = EventStreamFramer::new(FrameLimits::default());
/// let refused = framer.receive::<WireError>(b"<html>502 Bad Gateway</html>", |_| Ok(()));
/// let fault = MessageFault::LengthChecksum;
/// assert_eq!(refused, Err(WireError::BadMessage { fault }));
/// ```
pub type EventStreamFramer = BinaryFramer<EventStream>;

/// The messages of AWS: the form of [`EventStreamFramer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventStream;

impl BinaryForm for EventStream {
    const HEADER: usize = PRELUDE;

    type Lengths = Lengths;

    fn lengths(header: &[u8], limit: usize) -> Result<(usize, Lengths), WireError> {
        let prelude = header.first_chunk().copied().unwrap_or([0; PRELUDE]);
        let lengths = Lengths::read(prelude, limit)?;
        Ok((lengths.total, lengths))
    }

    fn frame(bytes: &[u8], lengths: Lengths) -> Result<Frame<'_>, WireError> {
        match Message::read(bytes, lengths) {
            Ok(message) => Ok(message.frame()),
            Err(fault) => Err(WireError::BadMessage { fault }),
        }
    }
}
