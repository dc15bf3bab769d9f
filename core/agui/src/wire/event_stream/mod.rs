//! Messages of `application/vnd.amazon.eventstream`.

mod fault;
mod headers;
mod message;

pub use fault::MessageFault;

use super::{
    Frame, FrameLimits, WireError,
    buffer::{Buffer, Full},
};
use message::{Lengths, Message, PRELUDE};
use serde::{Deserialize, Serialize};
use std::mem;

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
/// The complete message must not exceed [`FrameLimits::event`], its headers 128 KiB, and their number 256. The lengths
/// are checked, by their own checksum too, before any more of the message is held.
///
/// ```
/// use stepwell_agui::wire::{EventStreamFramer, FrameLimits, MessageFault, WireError};
///
/// let mut framer = EventStreamFramer::new(FrameLimits::default());
/// let refused = framer.receive::<WireError>(b"<html>502 Bad Gateway</html>", |_| Ok(()));
/// let fault = MessageFault::LengthChecksum;
/// assert_eq!(refused, Err(WireError::BadMessage { fault }));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventStreamFramer {
    limits: FrameLimits,
    /// The incomplete message.
    held: Buffer,
    error: Option<WireError>,
}

impl EventStreamFramer {
    /// Creates a framer for a new body.
    #[must_use]
    pub fn new(limits: FrameLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Returns whether no part of a message is held.
    #[must_use]
    #[inline]
    pub fn is_between_frames(&self) -> bool {
        self.held.is_empty()
    }

    /// Drops an incomplete message, after the connection broke. The next bytes belong to a new body. An error stays.
    pub fn restart(&mut self) {
        self.held.clear();
    }

    /// Receives the next bytes of the body, and passes on each message that they complete.
    ///
    /// # Errors
    ///
    /// A [`WireError`] when a message is invalid or too large, or the framer is already in error; else what `on_frame`
    /// returned.
    pub fn receive<E: From<WireError>>(
        &mut self,
        chunk: &[u8],
        mut on_frame: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check()?;
        let mut rest = chunk;
        if !self.held.is_empty() {
            rest = self.keep_up_to(rest, PRELUDE)?;
            let Some(lengths) = self.held_lengths()? else {
                return Ok(());
            };
            rest = self.keep_up_to(rest, lengths.total)?;
            if self.held.len() < lengths.total {
                return Ok(());
            }
            let mut held = mem::take(&mut self.held);
            self.hand_out(&held, lengths, &mut on_frame)?;
            held.clear();
            self.held = held;
        }
        while let Some(lengths) = self.lengths(rest)? {
            let Some((message, after)) = rest.split_at_checked(lengths.total) else {
                break;
            };
            self.hand_out(message, lengths, &mut on_frame)?;
            rest = after;
        }
        self.keep_up_to(rest, usize::MAX)?;
        Ok(())
    }

    /// Ends the body, and drops an incomplete message. [`is_between_frames`](Self::is_between_frames) returns
    /// beforehand whether there is one.
    ///
    /// The framer is then ready for a new body.
    ///
    /// # Errors
    ///
    /// The framer is already in error.
    pub fn finish<E: From<WireError>>(&mut self) -> Result<(), E> {
        self.check()?;
        self.held.clear();
        Ok(())
    }

    fn held_lengths(&mut self) -> Result<Option<Lengths>, WireError> {
        let prelude = self.held.first_chunk().copied();
        self.check_lengths(prelude)
    }

    /// Returns the lengths at the beginning of `bytes`, if they are complete.
    #[inline]
    fn lengths(&mut self, bytes: &[u8]) -> Result<Option<Lengths>, WireError> {
        self.check_lengths(bytes.first_chunk().copied())
    }

    #[inline]
    fn check_lengths(
        &mut self,
        prelude: Option<[u8; PRELUDE]>,
    ) -> Result<Option<Lengths>, WireError> {
        let Some(prelude) = prelude else {
            return Ok(None);
        };
        Lengths::read(prelude, self.limits.event)
            .map(Some)
            .map_err(|error| self.fail(error))
    }

    /// Keeps bytes until the wanted number is held, and returns the rest.
    fn keep_up_to<'c>(&mut self, bytes: &'c [u8], wanted: usize) -> Result<&'c [u8], WireError> {
        let missing = wanted.saturating_sub(self.held.len()).min(bytes.len());
        let (more, rest) = bytes.split_at(missing);
        let limit = self.limits.event.max(PRELUDE);
        match self.held.append(more, limit) {
            Ok(()) => Ok(rest),
            // The length was checked before, so there is room.
            Err(Full) => Err(self.fail(WireError::EventTooLarge {
                limit: self.limits.event,
            })),
        }
    }

    fn hand_out<E: From<WireError>>(
        &mut self,
        message: &[u8],
        lengths: Lengths,
        on_frame: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let message = Message::read(message, lengths)
            .map_err(|fault| self.fail(WireError::BadMessage { fault }))?;
        on_frame(message.frame()).inspect_err(|_| {
            self.fail(WireError::Stopped);
        })
    }

    #[inline]
    fn check(&self) -> Result<(), WireError> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// Stays in error, and frees what no later call will read.
    #[cold]
    fn fail(&mut self, error: WireError) -> WireError {
        self.held = Buffer::default();
        self.error = Some(error.clone());
        error
    }
}

#[cfg(test)]
mod tests {
    use super::{super::buffer::work, *};

    /// A message without headers.
    fn message(payload: &[u8]) -> Vec<u8> {
        let total = u32::try_from(16 + payload.len()).unwrap();
        let mut message = [total.to_be_bytes(), 0_u32.to_be_bytes()].concat();
        message.extend(crc32fast::hash(&message).to_be_bytes());
        message.extend(payload);
        message.extend(crc32fast::hash(&message).to_be_bytes());
        message
    }

    #[test]
    fn work_grows_with_the_bytes_received_not_with_the_chunks() {
        let body = message(&vec![b'1'; 100_000]);
        let mut framer = EventStreamFramer::new(FrameLimits::default());
        let mut lengths = Vec::new();
        work::take();
        for byte in body.chunks(1) {
            framer
                .receive::<WireError>(byte, |frame| {
                    lengths.push(frame.data.len());
                    Ok(())
                })
                .unwrap();
        }
        let (copied, _) = work::take();
        assert_eq!(lengths, [100_000]);
        assert!(copied < 3 * body.len(), "{copied}");
    }

    #[test]
    fn a_length_without_its_bytes_takes_no_room() {
        let mut framer = EventStreamFramer::new(FrameLimits::default());
        let body = message(&vec![b'1'; 1 << 20]);
        framer
            .receive::<WireError>(&body[..PRELUDE], |_| Ok(()))
            .unwrap();
        assert!(framer.held.capacity() < 100, "{}", framer.held.capacity());
    }
}
