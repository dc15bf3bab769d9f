use super::{
    Frame, FrameLimits, WireError,
    buffer::{Buffer, Full},
};
use serde::{Deserialize, Serialize};
use std::mem;

/// A framer for length-prefixed binary frames: each has its length as four bytes, the most significant first, and then
/// its bytes.
///
/// Source: AG-UI 1.0 (transports), `application/vnd.ag-ui.event+proto`. A frame has no name and no id.
///
/// The length must not exceed [`FrameLimits::event`], which is checked before any byte of the frame is held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LengthPrefixedFramer {
    limits: FrameLimits,
    /// The incomplete length, and then the incomplete frame.
    held: Buffer,
    error: Option<WireError>,
}

/// The number of bytes in a length.
const HEADER: usize = 4;

impl LengthPrefixedFramer {
    /// Creates a framer for a new body.
    #[must_use]
    pub fn new(limits: FrameLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

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
    /// A [`WireError`] when a frame is too large or the framer is already in error; else what `on_frame` returned.
    pub fn receive<E: From<WireError>>(
        &mut self,
        chunk: &[u8],
        mut on_frame: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check()?;
        let mut rest = chunk;
        if !self.held.is_empty() {
            rest = self.keep_up_to(rest, HEADER)?;
            let Some(length) = self.held_length()? else {
                return Ok(());
            };
            rest = self.keep_up_to(rest, HEADER + length)?;
            if self.held.len() < HEADER + length {
                return Ok(());
            }
            let mut held = mem::take(&mut self.held);
            self.hand_out(&held[HEADER..], &mut on_frame)?;
            held.clear();
            self.held = held;
        }
        while let Some(length) = self.length(rest)? {
            let Some((frame, after)) = rest[HEADER..].split_at_checked(length) else {
                break;
            };
            self.hand_out(frame, &mut on_frame)?;
            rest = after;
        }
        self.keep_up_to(rest, usize::MAX)?;
        Ok(())
    }

    /// Ends the body, and drops an incomplete frame. [`is_between_frames`](Self::is_between_frames) tells beforehand
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

    #[inline]
    fn held_length(&mut self) -> Result<Option<usize>, WireError> {
        let header = self.held.first_chunk().copied();
        self.check_length(header)
    }

    /// Returns the length at the beginning of `bytes`, if it is complete.
    #[inline]
    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, WireError> {
        self.check_length(bytes.first_chunk().copied())
    }

    #[inline]
    fn check_length(&mut self, header: Option<[u8; HEADER]>) -> Result<Option<usize>, WireError> {
        let Some(header) = header else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(header);
        let limit = self.limits.event;
        match usize::try_from(length) {
            Ok(length) if length <= limit => Ok(Some(length)),
            _ => Err(self.fail(WireError::FrameTooLarge { length, limit })),
        }
    }

    /// Keeps bytes until the wanted number is held, and returns the rest.
    fn keep_up_to<'c>(&mut self, bytes: &'c [u8], wanted: usize) -> Result<&'c [u8], WireError> {
        let missing = wanted.saturating_sub(self.held.len()).min(bytes.len());
        let (more, rest) = bytes.split_at(missing);
        let limit = self.limits.event.saturating_add(HEADER);
        match self.held.append(more, limit) {
            Ok(()) => Ok(rest),
            // The length was checked before, so there is room.
            Err(Full) => Err(self.fail(WireError::EventTooLarge {
                limit: self.limits.event,
            })),
        }
    }

    fn hand_out<E>(
        &mut self,
        data: &[u8],
        on_frame: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let frame = Frame {
            data,
            ..Frame::default()
        };
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

#[cfg(test)]
mod tests {
    use super::{super::buffer::work, *};

    #[test]
    fn work_grows_with_the_bytes_received_not_with_the_chunks() {
        let length = 100_000_u32;
        let body = [&length.to_be_bytes()[..], &vec![b'1'; 100_000]].concat();
        let mut framer = LengthPrefixedFramer::new(FrameLimits::default());
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
    fn a_length_that_never_comes_true_takes_no_room() {
        let mut framer = LengthPrefixedFramer::new(FrameLimits::default());
        let header = (10_u32 << 20).to_be_bytes();
        framer.receive::<WireError>(&header, |_| Ok(())).unwrap();
        assert!(framer.held.capacity() < 100, "{}", framer.held.capacity());
    }
}
