//! Frames that repeat. The frames of a stream differ in little but the text that they bring, so of a frame that was
//! read once is kept what stands around the text, byte for byte: a template. A frame that fits it is read by comparing,
//! and by looking at the text alone. All others are the [`FrameReader`]'s, which reads with serde and alone decides
//! what a frame means.
//!
//! That is sound because what a reader says of a frame is a function of its name and its bytes: with the same bytes
//! around it, any other string in the text's place is the same piece with another text. What depends on the state of
//! the answer besides, the reader looks up when it [says](FrameReader::piece) the piece.

mod scan;
mod text;

use super::answer::whole;
use super::error::StreamError;
use super::lenient::{COUNT_LIMIT, Raw};
use super::{Decode, DecodeError, Sink};
use crate::event::TokenUsage;
use crate::wire::Frame;
use scan::Scan;
use serde::{Deserialize, Serialize};
use text::RawText;

/// The most templates of a stream: a text, its reasoning, and some calls whose arguments come side by side.
const MOST: usize = 8;

/// The most that is kept of a frame, in bytes: what stands around its text.
const LONGEST: usize = 1024;

/// So many frames in a row may fit nothing before it is taken that the stream does not repeat itself. From then on one
/// frame in so many is kept, and for no longer than the next: the stream may change its ways.
const PATIENCE: u32 = 64;

/// The most counts that a frame has beside its text.
pub(super) const COUNTS: usize = 5;

/// The warning about lines that are neither fields nor an error.
const STRAY: &str = "the body has lines that are no server-sent events; they were left out";

/// Reads any frame of a dialect.
pub(super) trait FrameReader {
    /// What a text may be a piece of.
    type DeltaKind;

    /// Whether an empty frame says nothing. It is a fault of an AG-UI agent.
    const PASSES_EMPTY: bool = true;

    /// Returns whether a piece may be said as things are: the run has started and goes on, and the last frame left
    /// nothing over.
    fn takes_pieces(&self) -> bool;

    /// Says the piece that a frame brings, exactly as [`frame`](Self::frame) would. `false` where nothing was said,
    /// since more than the piece has to be looked at.
    ///
    /// # Errors
    /// As for [`Decode::frame`].
    fn piece(
        &mut self,
        fit: Fit<'_, Self::DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<bool, DecodeError>;

    /// Returns whether the answer is over: what comes behind it is not read. An AG-UI agent's is for the order check to
    /// judge.
    fn is_over(&self) -> bool;

    /// The stream reports an error, or breaks off with one.
    ///
    /// # Errors
    /// As for [`Decode::frame`].
    fn fail(&mut self, error: StreamError, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(whole(sink, error.into_event(None, None))?)
    }

    /// Reads the data of a frame that is named `error`, in a format that reports errors so; else it is a frame like any
    /// other.
    fn error(&mut self, _data: &[u8], _sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        None
    }

    /// Reads a frame, and shows it to `templates` if it is one piece and nothing besides.
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

    /// As [`Decode::end`].
    ///
    /// # Errors
    /// As for [`Decode::frame`].
    fn end(&mut self, _sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(())
    }
}

/// A dialect's reader, and the templates of its stream, which are no part of its state: a frame reads the same with and
/// without them.
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
    /// Lines from outside the format: an error ends the stream, anything else is left out.
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

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.reader.end(sink)
    }
}

/// What a frame that fits brings.
#[derive(Debug)]
pub(super) struct Fit<'a, K> {
    /// What it is a piece of.
    pub(super) kind: &'a K,
    /// The text, which is not empty.
    pub(super) text: &'a str,
    /// The counts beside it, each at the place that its [`Gap`] names; nothing else there means anything.
    pub(super) counts: &'a [u64; COUNTS],
}

/// The templates of a stream: each with what the text of its frames is a piece of.
#[derive(Debug)]
pub(super) struct Templates<K> {
    known: Vec<Template<K>>,
    /// The one that was used last.
    last: usize,
    /// Where the next one goes once there is no more room.
    oldest: usize,
    /// How many frames in a row fitted none.
    missed: u32,
    /// Whether the last frame fitted one.
    fitted: bool,
    counts: [u64; COUNTS],
    /// Where text that holds escapes is unescaped; only its room is kept.
    scratch: String,
}

#[derive(Debug)]
struct Template<K> {
    kind: K,
    /// The frame's name.
    event: Vec<u8>,
    /// The pieces between the gaps, one after the other.
    pieces: Vec<u8>,
    /// Where each piece but the last ends, and what stands in the gap behind it.
    gaps: Vec<(usize, Filling)>,
    /// The template whose turn it was after this one.
    next: usize,
}

/// What changes from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// The text, a string.
    Text,
    /// A value that the reader passes over. Of strings and numbers there may be any other.
    Passed,
    /// A count of tokens, and where it goes in [`Fit::counts`].
    Count(usize),
}

/// What stands in a gap.
#[derive(Clone, Copy, Debug)]
enum Filling {
    /// The text, and the quote behind it.
    Text,
    /// A string that says nothing, and the quote behind it.
    String,
    /// A number that says nothing.
    Number,
    /// A count, by its place.
    Count(usize),
}

impl<K> Templates<K> {
    /// Returns what a frame brings, if it fits a template.
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

    /// Keeps a frame, which is one piece of `kind` and nothing besides. `gaps` are the values that another frame may
    /// have others of, as they stand in this one; the text is among them.
    pub(super) fn learn<'a>(
        &mut self,
        frame: Frame<'_>,
        gaps: impl IntoIterator<Item = (Gap, Raw<'a>)>,
        kind: impl FnOnce() -> K,
    ) {
        // It was there already, and the reader did not say its piece.
        if self.fitted {
            return;
        }
        self.missed = self.missed.saturating_add(1);
        if self.missed > PATIENCE {
            self.known.clear();
            self.last = 0;
            self.oldest = 0;
            if !self.missed.is_multiple_of(PATIENCE) {
                return;
            }
        }
        let next = self.known.len();
        let Some(template) = Template::new(frame, gaps, kind, next) else {
            return;
        };
        if next < MOST {
            self.known.push(template);
            self.use_next(next);
        } else {
            let at = self.oldest;
            self.oldest = (at + 1) % MOST;
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
            // It may be of another text than this frame.
            if data.get(start..end)? != raw {
                return None;
            }
            let (start, filling) = match (gap, raw) {
                // What is empty may mean something else.
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
        if event.len() + kept > LONGEST {
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
