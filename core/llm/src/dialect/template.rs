//! Templates of repeated frames. The frames of a stream differ in little but their text. So the bytes around the text
//! of a frame that was read once are kept as a template. A frame that fits a template is read by comparing those bytes
//! and reading only the text. All other frames are read by the [`FrameReader`] with serde, which alone decides what a
//! frame means.
//!
//! This is sound because the meaning of a frame is a function of its name and its bytes: with the same bytes around it,
//! any other string instead of the text is the same delta with another text. Everything that depends on the state of
//! the answer is looked up when the reader [emits](FrameReader::piece) the delta.

mod scan;
mod text;

use super::answer::whole;
use super::error::StreamError;
use super::lenient::{COUNT_LIMIT, Raw};
use super::{Decode, DecodeError, EventPosition, Sink};
use crate::event::TokenUsage;
use crate::wire::Frame;
use scan::Scan;
use serde::{Deserialize, Serialize};
use text::RawText;

/// The maximum number of templates of a stream: enough for text, reasoning, and some calls whose arguments are
/// interleaved.
const MAX_TEMPLATES: usize = 8;

/// The maximum number of bytes around the text of a frame that a template keeps.
const MAX_TEMPLATE_BYTES: usize = 1024;

/// The number of frames in a row that may fit no template before the stream counts as one that does not repeat itself.
/// From then on only one frame in this many becomes a template, until the next one does, in case the stream begins to
/// repeat itself.
const MAX_MISSES: u32 = 64;

/// The maximum number of token counts in a frame with text.
pub(super) const COUNTS: usize = 5;

/// The warning about lines that are neither fields nor an error.
const STRAY: &str = "the body has lines that are no server-sent events; they were left out";

/// Reads any frame of a dialect.
pub(super) trait FrameReader {
    /// The kinds of deltas of the dialect.
    type DeltaKind;

    /// Whether empty frames are ignored. For an AG-UI agent they are an error.
    const PASSES_EMPTY: bool = true;

    /// Returns whether a delta may be emitted now: the run is active, and nothing of the last frame is pending.
    fn takes_pieces(&self) -> bool;

    /// Emits the delta of a frame, exactly as [`frame`](Self::frame) would. Returns `false` without emitting anything
    /// if the whole frame must be read.
    ///
    /// # Errors
    /// As for [`Decode::frame`].
    fn piece(
        &mut self,
        fit: Fit<'_, Self::DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<bool, DecodeError>;

    /// Returns whether the answer is over, so that no further frame is read. For an AG-UI agent the order check decides
    /// instead.
    fn is_over(&self) -> bool;

    /// Emits an error that the stream reports or breaks off with.
    ///
    /// # Errors
    /// As for [`Decode::frame`].
    fn fail(&mut self, error: StreamError, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(whole(sink, error.into_event(None, None))?)
    }

    /// Reads the data of a frame named `error`, in formats that report errors this way. In other formats such a frame
    /// is read like any other.
    fn error(&mut self, _data: &[u8], _sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        None
    }

    /// Reads a frame, and adds it to `templates` if it contains one delta and nothing else.
    ///
    /// # Errors
    /// As for [`Decode::frame`].
    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<Self::DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError>;

    /// As [`Decode::is_done`].
    fn is_done(&self) -> bool {
        false
    }

    /// As [`Decode::usage`].
    fn usage(&self) -> Option<&TokenUsage> {
        None
    }

    /// Names the model in the usage, once both are known. A frame ends with it, so that the state after a frame is the
    /// same whether or not the usage was read.
    fn name_usage(&mut self) {}

    /// As [`Decode::response_id`].
    fn response_id(&self) -> Option<&str> {
        None
    }

    /// As [`Decode::event_position`].
    fn event_position<'a>(&self, _frame: Frame<'a>) -> Option<EventPosition<'a>> {
        None
    }

    /// As [`Decode::stored`].
    ///
    /// # Errors
    /// As for [`Decode::stored`].
    fn stored(&mut self, _data: &[u8], _sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        Err(DecodeError::Resumed {
            reason: "the dialect has no stored answers".to_owned(),
        })
    }

    /// As [`Decode::end`].
    ///
    /// # Errors
    /// As for [`Decode::frame`].
    fn end(&mut self, _sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(())
    }
}

/// A dialect's reader with the templates of its stream. The templates are not part of the state, since a frame is read
/// the same with and without them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(
    transparent,
    bound(serialize = "R: Serialize", deserialize = "R: Deserialize<'de>")
)]
pub(super) struct Templated<R: FrameReader> {
    pub(super) reader: R,
    #[serde(skip)]
    templates: Templates<R::DeltaKind>,
}

impl<R: FrameReader> Templated<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            templates: Templates::default(),
        }
    }
}

impl<R: FrameReader> Templated<R> {
    /// Reads lines from outside the format. An error ends the stream; anything else is left out.
    #[cold]
    fn stray(&mut self, data: &[u8], sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if self.reader.is_over() {
            return Ok(());
        }
        match StreamError::stray(data) {
            Some(error) => self.reader.fail(error, sink),
            None => {
                sink.warning(STRAY);
                Ok(())
            }
        }
    }
}

impl<R: FrameReader> Templated<R> {
    /// Reads a frame that reports a failure, which ends the stream.
    #[cold]
    fn failure(&mut self, frame: Frame<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if self.reader.is_over() {
            return Ok(());
        }
        let name = String::from_utf8_lossy(frame.event);
        self.reader
            .fail(StreamError::named(&name, frame.data), sink)
    }
}

impl<R: FrameReader + PartialEq> PartialEq for Templated<R> {
    fn eq(&self, other: &Self) -> bool {
        self.reader == other.reader
    }
}

impl<R: FrameReader> Decode for Templated<R> {
    fn frame(&mut self, frame: Frame<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if frame.is_stray {
            return self.stray(frame.data, sink);
        }
        if frame.is_failure {
            return self.failure(frame, sink);
        }
        if self.reader.takes_pieces()
            && let Some(fit) = self.templates.find(frame)
            && self.reader.piece(fit, sink)?
        {
            return Ok(());
        }
        if self.reader.is_over() {
            return Ok(());
        }
        let data = frame.data.trim_ascii();
        if frame.event == b"error"
            && let Some(read) = self.reader.error(data, sink)
        {
            return read;
        }
        if R::PASSES_EMPTY && data.is_empty() {
            return Ok(());
        }
        let read = self.reader.frame(frame, &mut self.templates, sink);
        self.reader.name_usage();
        read
    }

    fn page(&mut self, data: &[u8], sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        let error = StreamError::page(data)?;
        Some(self.reader.fail(error, sink))
    }

    fn is_done(&self) -> bool {
        self.reader.is_done()
    }

    fn usage(&self) -> Option<&TokenUsage> {
        self.reader.usage()
    }

    fn response_id(&self) -> Option<&str> {
        self.reader.response_id()
    }

    fn event_position<'a>(&self, frame: Frame<'a>) -> Option<EventPosition<'a>> {
        self.reader.event_position(frame)
    }

    fn stored(&mut self, data: &[u8], sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        let is_finished = self.reader.stored(data, sink)?;
        self.reader.name_usage();
        Ok(is_finished)
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.reader.end(sink)
    }
}

/// The content of a frame that fits a template.
#[derive(Debug)]
pub(super) struct Fit<'a, K> {
    /// The kind of delta.
    pub(super) kind: &'a K,
    /// The text, which is not empty.
    pub(super) text: &'a str,
    /// The token counts, each at the index that its [`Gap`] names. Other elements are meaningless.
    pub(super) counts: &'a [u64; COUNTS],
}

/// The templates of a stream, each with the kind of delta of its frames.
#[derive(Debug)]
pub(super) struct Templates<K> {
    known: Vec<Template<K>>,
    /// The template that was used last.
    last: usize,
    /// The template to replace next, once there is no more room.
    oldest: usize,
    /// The number of frames in a row that fitted no template.
    missed: u32,
    /// Whether the last frame fitted a template.
    fitted: bool,
    counts: [u64; COUNTS],
    /// The buffer in which text with escapes is unescaped.
    scratch: String,
}

#[derive(Debug)]
struct Template<K> {
    kind: K,
    /// The frame's name.
    event: Vec<u8>,
    /// The bytes between the gaps, one segment after the other.
    pieces: Vec<u8>,
    /// The end of each segment but the last, and the filling of the gap after it.
    gaps: Vec<(usize, Filling)>,
    /// The template whose turn it was after this one.
    next: usize,
}

/// The parts of a frame that differ from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// The text, a string.
    Text,
    /// A value that the reader ignores. It may be any other string or number.
    Passed,
    /// A token count, with its index in [`Fit::counts`].
    Count(usize),
}

/// The content of a gap.
#[derive(Clone, Copy, Debug)]
enum Filling {
    /// The text, and the quote after it.
    Text,
    /// A string that is ignored, and the quote after it.
    String,
    /// A number that is ignored.
    Number,
    /// A token count, with its index.
    Count(usize),
}

impl<K> Templates<K> {
    /// Returns the content of a frame, if the frame fits a template.
    #[inline]
    fn find<'a>(&'a mut self, frame: Frame<'a>) -> Option<Fit<'a, K>> {
        self.fitted = false;
        let data = without_end(frame.data)?;
        let likely = self.known.get(self.last)?.next;
        let counts = &mut self.counts;
        let (at, text) = match self.known.get(likely)?.read(frame.event, data, counts) {
            Some(text) => (likely, text),
            None => (0..self.known.len())
                .filter(|at| *at != likely)
                .find_map(|at| Some((at, self.known[at].read(frame.event, data, counts)?)))?,
        };
        self.missed = 0;
        self.fitted = true;
        self.use_next(at);
        Some(Fit {
            text: text.unescape(&mut self.scratch)?,
            kind: &self.known.get(at)?.kind,
            counts: &self.counts,
        })
    }

    /// Makes a template of a frame that contains one delta of `kind` and nothing else. `gaps` are the values in this
    /// frame that may differ in another, including the text.
    pub(super) fn learn<'a>(
        &mut self,
        frame: Frame<'_>,
        gaps: impl IntoIterator<Item = (Gap, Raw<'a>)>,
        kind: impl FnOnce() -> K,
    ) {
        // The template exists already, and the reader did not emit its delta.
        if self.fitted {
            return;
        }
        self.missed = self.missed.saturating_add(1);
        if self.missed > MAX_MISSES {
            self.known.clear();
            self.last = 0;
            self.oldest = 0;
            if !self.missed.is_multiple_of(MAX_MISSES) {
                return;
            }
        }
        let next = self.known.len();
        let Some(template) = Template::new(frame, gaps, kind, next) else {
            return;
        };
        if next < MAX_TEMPLATES {
            self.known.push(template);
            self.use_next(next);
        } else {
            let at = self.oldest;
            self.oldest = (at + 1) % MAX_TEMPLATES;
            self.known[at] = Template {
                next: at,
                ..template
            };
            self.use_next(at);
        }
    }

    fn use_next(&mut self, at: usize) {
        self.known[self.last].next = at;
        self.last = at;
    }
}

/// A frame's data without the brace that ends it and the white space around that, which Anthropic pads its frames with.
#[inline]
fn without_end(data: &[u8]) -> Option<&[u8]> {
    Some(without_space(without_space(data).strip_suffix(b"}")?))
}

/// Without the white space of JSON at the end: `trim_ascii_end` takes form feeds too.
#[inline]
fn without_space(mut bytes: &[u8]) -> &[u8] {
    while let [before @ .., b' ' | b'\n' | b'\r' | b'\t'] = bytes {
        bytes = before;
    }
    bytes
}

/// Returns whether both are the same. Often both are empty, which `==` has `memcmp` find out: for an empty vector,
/// which points nowhere, some processors take long over that.
#[inline]
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

/// A count of tokens as a plain run of digits.
fn count(digits: &[u8]) -> Option<u64> {
    let count = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (count < COUNT_LIMIT).then_some(count)
}

impl<K> Template<K> {
    fn new<'a>(
        frame: Frame<'_>,
        gaps: impl IntoIterator<Item = (Gap, Raw<'a>)>,
        kind: impl FnOnce() -> K,
        next: usize,
    ) -> Option<Self> {
        let Frame { event, data, .. } = frame;
        let mut places = Vec::new();
        for (gap, raw) in gaps {
            let Some(raw) = raw.map(|raw| raw.get().as_bytes()) else {
                continue;
            };
            let start = raw.as_ptr().addr().checked_sub(data.as_ptr().addr())?;
            let end = start + raw.len();
            // The range may belong to another text than this frame's.
            if data.get(start..end)? != raw {
                return None;
            }
            let (start, filling) = match (gap, raw) {
                // An empty value may have another meaning.
                (Gap::Text, [b'"', _, .., b'"']) => (start + 1, Filling::Text),
                (Gap::Text, _) => return None,
                (Gap::Passed, [b'"', ..]) => (start + 1, Filling::String),
                (Gap::Passed, [b'-' | b'0'..=b'9', ..]) => (start, Filling::Number),
                (Gap::Passed, _) => continue,
                (Gap::Count(at), digits) => {
                    count(digits).filter(|_| at < COUNTS)?;
                    (start, Filling::Count(at))
                }
            };
            places.push((start, end, filling));
        }
        places.sort_unstable_by_key(|(start, ..)| *start);
        let data = without_end(data)?;
        let open = places.iter().map(|(start, end, _)| end - start).sum();
        let kept = data.len().checked_sub(open)?;
        if event.len() + kept > MAX_TEMPLATE_BYTES {
            return None;
        }
        let mut template = Self {
            kind: kind(),
            event: event.to_vec(),
            pieces: Vec::with_capacity(kept),
            gaps: Vec::with_capacity(places.len()),
            next,
        };
        let mut after = 0;
        for (start, end, filling) in places {
            template.pieces.extend_from_slice(data.get(after..start)?);
            template.gaps.push((template.pieces.len(), filling));
            after = end;
        }
        template.pieces.extend_from_slice(data.get(after..)?);
        Some(template)
    }

    /// The text of a frame that fits, without its end.
    #[inline]
    fn read<'a>(
        &self,
        event: &[u8],
        data: &'a [u8],
        counts: &mut [u64; COUNTS],
    ) -> Option<RawText<'a>> {
        if !same(event, &self.event) {
            return None;
        }
        let mut scan = Scan::new(data);
        let mut text = None;
        let mut start = 0;
        for &(end, filling) in &self.gaps {
            scan.piece(self.pieces.get(start..end)?)?;
            start = end;
            match filling {
                Filling::Text => text = Some(scan.string()?),
                Filling::String => scan.string()?.check_utf8()?,
                Filling::Number => {
                    scan.number()?;
                }
                Filling::Count(at) => *counts.get_mut(at)? = count(scan.number()?)?,
            }
        }
        if !same(scan.rest(), self.pieces.get(start..)?) {
            return None;
        }
        text.filter(|text| !text.is_empty())
    }
}

impl<K> Default for Templates<K> {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            last: 0,
            oldest: 0,
            missed: 0,
            fitted: false,
            counts: [0; COUNTS],
            scratch: String::new(),
        }
    }
}

impl<K> Clone for Templates<K> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests;
