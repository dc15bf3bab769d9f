use super::{
    Frame, FrameLimits, WireError,
    buffer::{Buffer, Full},
    field::{Field, milliseconds},
    start::Start,
};
use serde::{Deserialize, Serialize};
use std::{mem, time::Duration};

/// A framer for server-sent events, as specified by WHATWG
/// (<https://html.spec.whatwg.org/multipage/server-sent-events.html>, sections 9.2.5 and 9.2.6).
///
/// Lines end with LF, CRLF or CR; a byte order mark is dropped at the start only; several `data` lines are joined by
/// LF; one space after the colon is dropped; a field without a colon has an empty value; comments and unknown fields
/// are skipped. A block without a `data` line is not a frame, but its `id` and `retry` count.
///
/// Three things intentionally differ from the specification:
/// - [`finish`](Self::finish) returns a last block that lacks its blank line, since some providers end a body that way.
/// - Bytes that are not UTF-8 are passed on unchanged, where the specification has U+FFFD: the decoder reports them.
/// - Lines that are not fields, and a field `error`, are returned at the end of their block as a frame that
///   [is stray](Frame::is_stray): servers and proxies that fail in mid-stream report their error that way. A body that
///   is only a page or a JSON text gives no frame.
///
/// The specification leaves two cases open: an empty `retry` is ignored, and one beyond 64 bits counts as the largest
/// number.
///
/// ```
/// use stepwell_agui::wire::{FrameLimits, SseFramer, WireError};
///
/// let mut framer = SseFramer::new(FrameLimits::default());
/// let mut frames = Vec::new();
/// for chunk in [&b"event: ping\nda"[..], b"ta: {}\r\n\r", b"\n: comment\n"] {
///     framer.receive::<WireError>(chunk, |frame| {
///         frames.push((frame.event.to_vec(), frame.data.to_vec()));
///         Ok(())
///     })?;
/// }
/// assert_eq!(frames, [(b"ping".to_vec(), b"{}".to_vec())]);
/// # Ok::<(), WireError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SseFramer {
    limits: FrameLimits,
    start: Start,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// An incomplete line.
    line: Buffer,
    /// The parts of the current block that earlier chunks contained.
    event: Buffer,
    data: Buffer,
    has_data: bool,
    next_id: Buffer,
    has_next_id: bool,
    id: Buffer,
    /// The wait before a reconnection, in milliseconds.
    retry: Option<u64>,
    /// The lines from outside the format since the last frame.
    #[serde(default, skip_serializing_if = "Buffer::is_unused")]
    stray: Buffer,
    /// Whether any frame was passed on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_begun: bool,
    error: Option<WireError>,
}

/// The maximum number of bytes from outside the format that are held. Further bytes are dropped.
const MAX_STRAY_BYTES: usize = 64 * 1024;

/// The parts of the current block in the current chunk, which are not copied yet.
#[derive(Default)]
struct Block<'c> {
    event: Option<&'c [u8]>,
    /// Only ever set while the framer has no data of the block.
    data: Option<&'c [u8]>,
}

impl SseFramer {
    /// Creates a framer for a new body.
    #[must_use]
    pub fn new(limits: FrameLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Returns the id of the last complete block, for the `Last-Event-ID` header of a reconnect.
    ///
    /// The id is empty if the server sent none, or reset it.
    #[must_use]
    #[inline]
    pub fn last_event_id(&self) -> &[u8] {
        &self.id
    }

    /// Returns the delay that the server asks for before a reconnect.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry.map(Duration::from_millis)
    }

    /// Returns whether no part of an event's data is held.
    #[must_use]
    #[inline]
    pub fn is_between_frames(&self) -> bool {
        self.line.is_empty() && !self.has_data
    }

    /// Drops an incomplete event, after the connection broke. The next bytes are those of a new body. The last event
    /// id, the reconnect delay and an error stay.
    pub fn restart(&mut self) {
        *self = Self {
            limits: self.limits,
            id: mem::take(&mut self.id),
            retry: self.retry,
            error: self.error.take(),
            ..Self::default()
        };
    }

    /// Receives the next bytes of the body, and passes on each event that they complete.
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
        self.keep_line(held)?;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        let mut block = Block::default();
        while let Some(end) = line_end(rest) {
            let (line, ended) = rest.split_at(end);
            rest = match ended {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                _ => &ended[1..],
            };
            if !self.line.is_empty() {
                self.keep_line(line)?;
                self.read_kept_line()?;
            } else if line.is_empty() {
                self.dispatch(&mem::take(&mut block), &mut on_frame)?;
            } else {
                self.read_line(line, &mut block)?;
            }
        }
        self.keep_line(rest)?;
        self.keep_block(&block)?;
        Ok(())
    }

    /// Ends the body, and passes on a last block that lacks its blank line or its line end.
    ///
    /// The specification discards such a block. Call this only when the body ended regularly: after a broken connection
    /// the rest may be an incomplete event.
    ///
    /// The framer is then ready for a new body. The last event id and the reconnect delay stay.
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
        self.after_cr = false;
        self.keep_line(held)?;
        if !self.line.is_empty() {
            self.read_kept_line()?;
        }
        // A body that is a page or a JSON text from its first byte on is not a stream: the caller detects that.
        self.has_begun |= !matches!(self.stray.first(), Some(b'<' | b'{' | b'['));
        self.dispatch(&Block::default(), &mut on_frame)?;
        self.stray.clear();
        self.has_begun = false;
        Ok(())
    }

    /// Ends a block, after a blank line.
    fn dispatch<E>(
        &mut self,
        block: &Block<'_>,
        on_frame: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.has_next_id {
            self.has_next_id = false;
            mem::swap(&mut self.id, &mut self.next_id);
            self.next_id.clear();
        }
        let has_data = self.has_data || block.data.is_some();
        let mut outcome = Ok(());
        if !self.stray.is_empty() && (has_data || self.has_begun) {
            outcome = self.dispatch_stray(on_frame);
        }
        let kept = self.has_data.then_some(&*self.data);
        if let (Ok(()), Some(data)) = (&outcome, block.data.or(kept)) {
            self.has_begun = true;
            outcome = on_frame(Frame {
                event: block.event.unwrap_or(&self.event),
                data,
                id: &self.id,
                is_stray: false,
                is_failure: false,
            });
        }
        self.event.clear();
        self.data.clear();
        self.has_data = false;
        outcome.inspect_err(|_| {
            self.fail(WireError::Stopped);
        })
    }

    /// Passes on the text from outside the format.
    #[cold]
    fn dispatch_stray<E>(
        &mut self,
        on_frame: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let stray = mem::take(&mut self.stray);
        on_frame(Frame {
            event: b"",
            data: &stray,
            id: &self.id,
            is_stray: true,
            is_failure: false,
        })
    }

    /// Keeps a line from outside the format, as far as there is room.
    #[cold]
    fn keep_stray(&mut self, line: &[u8]) {
        let separator: &[u8] = if self.stray.is_empty() { b"" } else { b"\n" };
        let limit = MAX_STRAY_BYTES;
        let _: Result<(), Full> = self
            .stray
            .append(separator, limit)
            .and_then(|()| self.stray.append(line, limit));
    }

    #[inline]
    fn read_line<'c>(&mut self, line: &'c [u8], block: &mut Block<'c>) -> Result<(), WireError> {
        if line.len() > self.limits.line {
            return Err(self.fail(WireError::LineTooLong {
                limit: self.limits.line,
            }));
        }
        match Field::read(line) {
            Field::Data(value) if block.data.is_none() && !self.has_data => {
                if value.len() > self.limits.event {
                    return Err(self.fail_event());
                }
                block.data = Some(value);
            }
            Field::Data(value) => {
                if let Some(first) = block.data.take() {
                    self.keep_data(first)?;
                }
                self.keep_data(value)?;
            }
            Field::Event(value) => block.event = Some(value),
            Field::Id(value) if memchr::memchr(0, value).is_none() => {
                self.next_id.set(value);
                self.has_next_id = true;
            }
            Field::Retry(value) => self.retry = milliseconds(value).or(self.retry),
            Field::Stray(line) => self.keep_stray(line),
            Field::Id(_) | Field::Unknown => {}
        }
        Ok(())
    }

    /// Reads the kept line, which is now complete.
    fn read_kept_line(&mut self) -> Result<(), WireError> {
        let mut line = mem::take(&mut self.line);
        let mut block = Block::default();
        self.read_line(&line, &mut block)?;
        self.keep_block(&block)?;
        line.clear();
        self.line = line;
        Ok(())
    }

    #[inline]
    fn keep_line(&mut self, part: &[u8]) -> Result<(), WireError> {
        let limit = self.limits.line;
        self.line
            .append(part, limit)
            .map_err(|Full| self.fail(WireError::LineTooLong { limit }))
    }

    #[inline]
    fn keep_block(&mut self, block: &Block<'_>) -> Result<(), WireError> {
        if let Some(event) = block.event {
            self.event.set(event);
        }
        block.data.map_or(Ok(()), |data| self.keep_data(data))
    }

    fn keep_data(&mut self, value: &[u8]) -> Result<(), WireError> {
        let limit = self.limits.event;
        let separator: &[u8] = if self.has_data { b"\n" } else { b"" };
        self.has_data = true;
        self.data
            .append(separator, limit)
            .and_then(|()| self.data.append(value, limit))
            .map_err(|Full| self.fail_event())
    }

    #[inline]
    fn check(&self) -> Result<(), WireError> {
        self.error.clone().map_or(Ok(()), Err)
    }

    #[cold]
    fn fail_event(&mut self) -> WireError {
        self.fail(WireError::EventTooLarge {
            limit: self.limits.event,
        })
    }

    /// Stays in error, and frees what no later call will read.
    #[cold]
    fn fail(&mut self, error: WireError) -> WireError {
        *self = Self {
            limits: self.limits,
            id: mem::take(&mut self.id),
            retry: self.retry,
            error: Some(error.clone()),
            ..Self::default()
        };
        error
    }
}

#[inline]
fn line_end(bytes: &[u8]) -> Option<usize> {
    let end = match bytes.first() {
        // The blank line after each event is not worth a search.
        Some(b'\n') => Some(0),
        _ => memchr::memchr2(b'\n', b'\r', bytes),
    };
    #[cfg(test)]
    super::buffer::work::searched(end.map_or(bytes.len(), |end| end + 1));
    end
}

#[cfg(test)]
mod tests {
    use super::{super::buffer::work, *};

    fn feed(framer: &mut SseFramer, body: &[u8], size: usize) -> (usize, usize, usize) {
        let mut frames = 0;
        work::take();
        for chunk in body.chunks(size) {
            framer
                .receive::<WireError>(chunk, |_| {
                    frames += 1;
                    Ok(())
                })
                .unwrap();
        }
        let (copied, searched) = work::take();
        (frames, copied, searched)
    }

    #[test]
    fn whole_frames_are_not_copied() {
        let body = b"event: a\nid: 1\ndata: one\n\n".repeat(100);
        let (frames, copied, searched) = feed(&mut SseFramer::default(), &body, body.len());
        assert_eq!((frames, copied, searched), (100, 0, body.len()));
    }

    #[test]
    fn work_grows_with_the_bytes_received_not_with_the_chunks() {
        let endless_line = [b"data: ".to_vec(), vec![b'x'; 200_000], b"\n\n".to_vec()].concat();
        let endless_block = [b"data: x\n".repeat(25_000), b"\n".to_vec()].concat();
        let no_colon = [vec![b'd'; 200_000], b"\ndata\n\n".to_vec()].concat();
        let bare_cr = [b"data: x\r".repeat(25_000), b"\r".to_vec()].concat();
        for body in [endless_line, endless_block, no_colon, bare_cr] {
            for size in [1, 2, 7, 1024, body.len()] {
                let (frames, copied, searched) = feed(&mut SseFramer::default(), &body, size);
                assert_eq!((frames, searched), (1, body.len()), "chunks of {size}");
                // Each byte once to the cut line and once to the data, and what doubling a buffer moves.
                assert!(copied <= 5 * body.len(), "chunks of {size}: {copied}");
            }
        }
    }

    #[test]
    fn holds_no_more_than_its_limits() {
        let limits = FrameLimits {
            line: 100,
            event: 300,
        };
        let endless_line = vec![b'x'; 10_000];
        let endless_block = b"data: x\n".repeat(10_000);
        let empty_lines = b"data\n".repeat(10_000);
        let long_values = b"event: 12345678901234567890123456789012345678901234567890\nid: 12345678901234567890123456789012345678901234567890\ndata: 12345678901234567890123456789012345678901234567890\n".repeat(100);
        for body in [endless_line, endless_block, empty_lines, long_values] {
            let mut framer = SseFramer::new(limits);
            let mut failed = false;
            for byte in body.chunks(1) {
                failed = framer.receive::<WireError>(byte, |_| Ok(())).is_err();
                let SseFramer {
                    line,
                    event,
                    data,
                    next_id,
                    id,
                    ..
                } = &framer;
                assert!(
                    [line, event, next_id, id]
                        .iter()
                        .all(|b| b.capacity() <= 100)
                );
                assert!(data.capacity() <= 300);
                assert!(!failed || line.capacity() + data.capacity() == 0);
            }
            assert!(failed);
        }
    }

    #[test]
    fn a_block_that_never_ends_but_brings_no_data_holds_nothing() {
        let body = b": comment\nunknown: x\nevent: a\nid: 1\nretry: 5\n".repeat(10_000);
        let mut framer = SseFramer::default();
        let (frames, ..) = feed(&mut framer, &body, 1000);
        assert_eq!(frames, 0);
        assert_eq!(framer.data.capacity(), 0);
        assert!(framer.line.capacity() + framer.event.capacity() + framer.next_id.capacity() < 200);
    }
}
