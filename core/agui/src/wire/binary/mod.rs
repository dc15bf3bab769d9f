//! Binary frames that begin with a header of fixed size, in which their length is.

mod event_stream;
mod fault;
mod headers;
mod length_prefix;
mod message;

pub use event_stream::EventStreamFramer;
pub use fault::MessageFault;
pub use length_prefix::LengthPrefixedFramer;

use super::buffer::{Buffer, Full};
use super::{Frame, FrameLimits, WireError};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::mem;

/// A form of binary frames.
pub trait BinaryForm {
    /// The number of bytes of the header.
    const HEADER: usize;

    /// What the header says.
    type Lengths: Copy;

    /// Reads and checks the header of a frame whose content may have up to `limit` bytes. Returns the length of the complete
    /// frame, the header included, and what else the header says.
    ///
    /// # Errors
    ///
    /// The frame is too large, or the header is invalid.
    fn lengths(header: &[u8], limit: usize) -> Result<(usize, Self::Lengths), WireError>;

    /// Reads a complete frame.
    ///
    /// # Errors
    ///
    /// The frame is invalid.
    fn frame(bytes: &[u8], lengths: Self::Lengths) -> Result<Frame<'_>, WireError>;
}

/// A framer for binary frames of one form. The length of a frame is checked before any more of it is held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryFramer<F> {
    limits: FrameLimits,
    /// The incomplete header, and then the incomplete frame.
    held: Buffer,
    error: Option<WireError>,
    #[serde(skip)]
    form: PhantomData<F>,
}

impl<F: BinaryForm + Default> BinaryFramer<F> {
    /// Creates a framer for a new body.
    #[must_use]
    pub fn new(limits: FrameLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }
}

impl<F: BinaryForm> BinaryFramer<F> {
    /// Returns whether no part of a frame is held.
    #[must_use]
    #[inline]
    pub fn is_between_frames(&self) -> bool {
        self.held.is_empty()
    }

    /// Drops an incomplete frame, after the connection broke. The next bytes belong to a new body. An error stays.
    pub fn restart(&mut self) {
        self.held.clear();
    }

    /// Receives the next bytes of the body, and passes on each frame that they complete.
    ///
    /// # Errors
    ///
    /// A [`WireError`] when a frame is invalid or too large, or the framer is already in error; else what `on_frame`
    /// returned.
    pub fn receive<E: From<WireError>>(
        &mut self,
        chunk: &[u8],
        mut on_frame: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check()?;
        let mut rest = chunk;
        if !self.held.is_empty() {
            rest = self.keep_up_to(rest, F::HEADER)?;
            let header = F::lengths_of(&self.held, self.limits);
            let Some((total, lengths)) = header.map_err(|error| self.fail(error))? else {
                return Ok(());
            };
            rest = self.keep_up_to(rest, total)?;
            if self.held.len() < total {
                return Ok(());
            }
            let mut held = mem::take(&mut self.held);
            self.hand_out(&held, lengths, &mut on_frame)?;
            held.clear();
            self.held = held;
        }
        loop {
            let header = F::lengths_of(rest, self.limits);
            let Some((total, lengths)) = header.map_err(|error| self.fail(error))? else {
                break;
            };
            let Some((frame, after)) = rest.split_at_checked(total) else {
                break;
            };
            self.hand_out(frame, lengths, &mut on_frame)?;
            rest = after;
        }
        self.keep_up_to(rest, usize::MAX)?;
        Ok(())
    }

    /// Ends the body, and drops an incomplete frame. [`is_between_frames`](Self::is_between_frames) returns beforehand
    /// whether there is one.
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

    /// Keeps bytes until the wanted number is held, and returns the rest.
    fn keep_up_to<'c>(&mut self, bytes: &'c [u8], wanted: usize) -> Result<&'c [u8], WireError> {
        let missing = wanted.saturating_sub(self.held.len()).min(bytes.len());
        let (more, rest) = bytes.split_at(missing);
        let limit = self.limits.event.saturating_add(F::HEADER);
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
        bytes: &[u8],
        lengths: F::Lengths,
        on_frame: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let frame = F::frame(bytes, lengths).map_err(|error| self.fail(error))?;
        on_frame(frame).inspect_err(|_| {
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

/// The header at the beginning of some bytes.
trait Header: BinaryForm {
    /// Returns what the header says, if it is complete.
    #[inline]
    fn lengths_of(
        bytes: &[u8],
        limits: FrameLimits,
    ) -> Result<Option<(usize, Self::Lengths)>, WireError> {
        let header = bytes.get(..Self::HEADER);
        header
            .map(|header| Self::lengths(header, limits.event))
            .transpose()
    }
}

impl<F: BinaryForm> Header for F {}

#[cfg(test)]
mod tests {
    use super::super::buffer::work;
    use super::event_stream::EventStream;
    use super::length_prefix::LengthPrefix;
    use super::*;

    /// A message of an event stream, without headers.
    fn message(payload: &[u8]) -> Vec<u8> {
        let total = u32::try_from(16 + payload.len()).unwrap();
        let mut message = [total.to_be_bytes(), 0_u32.to_be_bytes()].concat();
        message.extend(crc32fast::hash(&message).to_be_bytes());
        message.extend(payload);
        message.extend(crc32fast::hash(&message).to_be_bytes());
        message
    }

    fn prefixed(payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap();
        [&length.to_be_bytes()[..], payload].concat()
    }

    fn copied<F: BinaryForm + Default>(mut framer: BinaryFramer<F>, body: &[u8]) -> usize {
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
        assert_eq!(lengths, [100_000]);
        work::take().0
    }

    #[test]
    fn work_grows_with_the_bytes_received_not_with_the_chunks() {
        let payload = vec![b'1'; 100_000];
        let limits = FrameLimits::default();
        let (prefixed, message) = (prefixed(&payload), message(&payload));
        for (copied, body) in [
            (
                copied(LengthPrefixedFramer::new(limits), &prefixed),
                &prefixed,
            ),
            (copied(EventStreamFramer::new(limits), &message), &message),
        ] {
            assert!(copied < 3 * body.len(), "{copied}");
        }
    }

    #[test]
    fn a_length_without_its_bytes_takes_no_room() {
        fn held<F: BinaryForm + Default>(header: &[u8]) -> usize {
            let mut framer = BinaryFramer::<F>::new(FrameLimits::default());
            framer.receive::<WireError>(header, |_| Ok(())).unwrap();
            framer.held.capacity()
        }
        assert!(held::<LengthPrefix>(&(10_u32 << 20).to_be_bytes()) < 100);
        let message = message(&vec![b'1'; 1 << 20]);
        assert!(held::<EventStream>(&message[..EventStream::HEADER]) < 100);
    }
}
