use super::{
    Frame, FrameLimits, WireError,
    buffer::{Buffer, Full},
    start::Start,
};
use serde::{Deserialize, Serialize};
use std::mem;

/// A framer for JSON lines (<https://jsonlines.org>, <https://github.com/ndjson/ndjson-spec>).
///
/// A line ends with LF or CRLF; a line of nothing but white space is skipped, and so is a byte order mark at the start.
/// Whether a line is JSON is for the decoder to check. A frame has no name and no id.
///
/// A line is an event here, so the smaller of the two [`FrameLimits`] applies to the bytes before the LF.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonLinesFramer {
    limits: FrameLimits,
    start: Start,
    /// An incomplete line.
    line: Buffer,
    error: Option<WireError>,
}

impl JsonLinesFramer {
    /// Creates a framer for a new body.
    #[must_use]
    pub fn new(limits: FrameLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Returns whether no part of a line is held.
    #[must_use]
    #[inline]
    pub fn is_between_frames(&self) -> bool {
        self.line.is_empty()
    }

    /// Drops an incomplete line, after the connection broke. The next bytes belong to a new body. An error stays.
    pub fn restart(&mut self) {
        *self = Self {
            limits: self.limits,
            error: self.error.take(),
            ..Self::default()
        };
    }

    /// Receives the next bytes of the body, and passes on each line that they complete.
    ///
    /// # Errors
    ///
    /// A [`WireError`] when a limit is passed or the framer is already in error; else what `on_frame` returned.
    pub fn receive<E: From<WireError>>(
        &mut self,
        chunk: &[u8],
        mut on_frame: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check()?;
        let (held, mut rest) = self.start.skip(chunk);
        self.keep(held)?;
        while let Some(end) = line_end(rest) {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.line.is_empty() {
                if line.len() > self.limit() {
                    return Err(self.fail_line().into());
                }
                self.hand_out(line, &mut on_frame)?;
            } else {
                self.keep(line)?;
                self.hand_out_kept(&mut on_frame)?;
            }
        }
        self.keep(rest)?;
        Ok(())
    }

    /// Ends the body, and passes on a last line that lacks its LF.
    ///
    /// The framer is then ready for a new body.
    ///
    /// # Errors
    ///
    /// As for [`receive`](Self::receive).
    pub fn finish<E: From<WireError>>(
        &mut self,
        mut on_frame: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check()?;
        let held = self.start.finish();
        self.keep(held)?;
        self.hand_out_kept(&mut on_frame)
    }

    fn hand_out_kept<E>(
        &mut self,
        on_frame: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut line = mem::take(&mut self.line);
        self.hand_out(&line, on_frame)?;
        line.clear();
        self.line = line;
        Ok(())
    }

    fn hand_out<E>(
        &mut self,
        line: &[u8],
        on_frame: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let data = line.strip_suffix(b"\r").unwrap_or(line);
        if data.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let frame = Frame {
            data,
            ..Frame::default()
        };
        on_frame(frame).inspect_err(|_| {
            self.fail(WireError::Stopped);
        })
    }

    #[inline]
    fn keep(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let limit = self.limit();
        self.line
            .append(bytes, limit)
            .map_err(|Full| self.fail_line())
    }

    #[inline]
    fn limit(&self) -> usize {
        self.limits.line.min(self.limits.event)
    }

    #[inline]
    fn check(&self) -> Result<(), WireError> {
        self.error.clone().map_or(Ok(()), Err)
    }

    #[cold]
    fn fail_line(&mut self) -> WireError {
        self.fail(WireError::LineTooLong {
            limit: self.limit(),
        })
    }

    /// Stays in error, and frees what no later call will read.
    #[cold]
    fn fail(&mut self, error: WireError) -> WireError {
        self.line = Buffer::default();
        self.error = Some(error.clone());
        error
    }
}

#[inline]
fn line_end(bytes: &[u8]) -> Option<usize> {
    let end = memchr::memchr(b'\n', bytes);
    #[cfg(test)]
    super::buffer::work::searched(end.map_or(bytes.len(), |end| end + 1));
    end
}

#[cfg(test)]
mod tests {
    use super::{super::buffer::work, *};

    #[test]
    fn work_grows_with_the_bytes_received_not_with_the_chunks() {
        let body = [vec![b'1'; 100_000], b"\n".to_vec()].concat();
        let mut framer = JsonLinesFramer::new(FrameLimits::default());
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
        let (copied, searched) = work::take();
        assert_eq!(lengths, [100_000]);
        assert_eq!(searched, body.len());
        assert!(copied < 3 * body.len(), "{copied}");
    }
}
