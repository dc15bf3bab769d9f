//! Frames that repeat. The frames of a stream differ in little but the text that they bring, so a frame that was read
//! once is kept as a template: what stands around the text, byte for byte. A frame that fits it is read by comparing,
//! and by looking at the text alone.
//!
//! That is sound because the cursor's verdict on a frame is a function of its bytes: with the same bytes around it, any
//! other string in the text's place gives the same reading with another text. What the caller's reading depends on
//! besides must not have changed; where it has, the caller [forgets](Templates::forget).

use super::{Cursor, Miss, RawText};

/// The most templates of a stream: a text, its reasoning, and some calls whose arguments come side by side.
const MOST: usize = 8;

/// The most that is kept of a frame, in bytes: what stands around its text.
const LONGEST: usize = 1024;

/// So many frames in a row may fit nothing before it is taken that the stream does not repeat itself. From then on one
/// frame in so many is kept, and for no longer than the next: the stream may change its ways.
const PATIENCE: u32 = 64;

/// The most values of a frame, the text aside, that may change.
const MOST_CHANGING: usize = 3;

/// The templates of a stream: each with what its frames mean, which is a `K`. They are no part of a decoder's state:
/// a frame reads the same with and without them.
#[derive(Debug)]
pub(crate) struct Templates<K> {
    known: Vec<Template<K>>,
    /// The one that was used last.
    last: usize,
    /// Where the next one goes once there is no more room.
    oldest: usize,
    /// How many frames in a row fitted none.
    missed: u32,
}

#[derive(Debug)]
struct Template<K> {
    meaning: K,
    /// The pieces between the gaps, one after the other.
    pieces: Vec<u8>,
    /// Where each piece but the last ends, and what stands in the gap behind it.
    gaps: Vec<(usize, Gap)>,
    /// The template whose turn it was after this one.
    next: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// The text, and the quote behind it.
    Text,
    /// A string that says nothing, and the quote behind it.
    String,
    /// A number that says nothing.
    Number,
}

/// A frame that is one delta, and nothing besides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain<'a, K> {
    /// What it brings a piece of, and the piece; `None` where it brings nothing.
    pub(crate) piece: Option<(K, RawText<'a>)>,
    pub(crate) changing: Changing,
}

/// Where the values of a frame are that say nothing and change: numbers that count the frames, padding.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changing {
    at: [(usize, usize); MOST_CHANGING],
    count: usize,
}

impl<'a> Cursor<'a> {
    /// Passes over a value that changes from frame to frame, and takes note of it.
    pub(crate) fn skip_changing(&mut self, changing: &mut Changing) -> Result<(), Miss> {
        let first = self.peek()?;
        let start = self.at;
        self.skip()?;
        if let (b'"' | b'-' | b'0'..=b'9', Some(place)) =
            (first, changing.at.get_mut(changing.count))
        {
            *place = (start, self.at);
            changing.count += 1;
        }
        Ok(())
    }

    /// Steps over these bytes.
    #[inline]
    fn piece(&mut self, piece: &[u8]) -> Result<(), Miss> {
        if !self.rest().starts_with(piece) {
            return Err(Miss);
        }
        self.at += piece.len();
        Ok(())
    }
}

impl<K> Templates<K> {
    /// Reads a frame: as one that is like it was read, or the long way, by `read`.
    ///
    /// # Errors
    /// It is not one of the plain ones.
    #[inline]
    pub(crate) fn read_or<'a>(
        &mut self,
        frame: &'a [u8],
        read: impl FnOnce(&'a [u8]) -> Result<Plain<'a, K>, Miss>,
    ) -> Result<Option<(K, RawText<'a>)>, Miss>
    where
        K: Copy,
    {
        if let Some((at, text)) = self.find(frame) {
            return Ok(self.meaning(at).map(|meaning| (*meaning, text)));
        }
        let plain = read(frame)?;
        if let Some((meaning, text)) = plain.piece {
            self.learn(frame, text, plain.changing, || meaning);
        }
        Ok(plain.piece)
    }

    /// The template that a frame fits, and the frame's text, which is not empty.
    #[inline]
    pub(crate) fn find<'a>(&mut self, frame: &'a [u8]) -> Option<(usize, RawText<'a>)> {
        let likely = self.known.get(self.last)?.next;
        let (at, text) = match self.known.get(likely)?.read(frame) {
            Ok(text) => (likely, text),
            Err(Miss) => (0..self.known.len())
                .filter(|at| *at != likely)
                .find_map(|at| Some((at, self.known[at].read(frame).ok()?)))?,
        };
        self.missed = 0;
        self.use_next(at);
        Some((at, text))
    }

    /// What the frames of a template mean.
    pub(crate) fn meaning(&self, at: usize) -> Option<&K> {
        self.known.get(at).map(|template| &template.meaning)
    }

    /// Keeps a frame that was read the long way. `text` is where its text was found.
    pub(crate) fn learn(
        &mut self,
        frame: &[u8],
        text: RawText<'_>,
        changing: Changing,
        meaning: impl FnOnce() -> K,
    ) {
        self.missed = self.missed.saturating_add(1);
        if self.missed > PATIENCE {
            self.forget();
            if !self.missed.is_multiple_of(PATIENCE) {
                return;
            }
        }
        // What is empty may mean something else.
        if frame.len().saturating_sub(text.bytes.len()) > LONGEST || text.is_empty() {
            return;
        }
        let next = self.known.len();
        let Some(template) = Template::new(frame, text, changing, meaning(), next) else {
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

    /// Keeps nothing of what was learnt: what a frame means may have changed.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.last = 0;
        self.oldest = 0;
    }

    fn use_next(&mut self, at: usize) {
        self.known[self.last].next = at;
        self.last = at;
    }
}

impl<K> Template<K> {
    fn new(
        frame: &[u8],
        text: RawText<'_>,
        changing: Changing,
        meaning: K,
        next: usize,
    ) -> Option<Self> {
        let start = text
            .bytes
            .as_ptr()
            .addr()
            .checked_sub(frame.as_ptr().addr())?;
        let text = (start, start + text.bytes.len() + 1, Gap::Text);
        let mut gaps: Vec<_> = changing.at[..changing.count]
            .iter()
            .map(|&(start, end)| match frame.get(start) {
                Some(b'"') => (start + 1, end, Gap::String),
                _ => (start, end, Gap::Number),
            })
            .collect();
        let place = gaps.partition_point(|gap| gap.0 < text.0);
        gaps.insert(place, text);
        let mut template = Self {
            meaning,
            pieces: Vec::with_capacity(frame.len().saturating_sub(text.1 - text.0)),
            gaps: Vec::with_capacity(gaps.len()),
            next,
        };
        let mut after = 0;
        for (start, end, gap) in gaps {
            template.pieces.extend_from_slice(frame.get(after..start)?);
            template.gaps.push((template.pieces.len(), gap));
            after = end;
        }
        template.pieces.extend_from_slice(frame.get(after..)?);
        Some(template)
    }

    /// The text of a frame that fits.
    #[inline]
    fn read<'a>(&self, frame: &'a [u8]) -> Result<RawText<'a>, Miss> {
        let mut cursor = Cursor::new(frame);
        let mut text = Err(Miss);
        let mut start = 0;
        for &(end, gap) in &self.gaps {
            cursor.piece(self.pieces.get(start..end).ok_or(Miss)?)?;
            start = end;
            match gap {
                Gap::Text => {
                    let body = cursor.string_body()?;
                    body.check_utf8()?;
                    text = Ok(body);
                }
                Gap::String => cursor.string_body()?.check_utf8()?,
                Gap::Number => cursor.number()?,
            }
        }
        if cursor.rest() != self.pieces.get(start..).ok_or(Miss)? {
            return Err(Miss);
        }
        text.and_then(|text| if text.is_empty() { Err(Miss) } else { Ok(text) })
    }
}

impl<K> Default for Templates<K> {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            last: 0,
            oldest: 0,
            missed: 0,
        }
    }
}

impl<K> Clone for Templates<K> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<K> PartialEq for Templates<K> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
