use super::super::{AnswerLimit, DecodeError};
use crate::Timestamp;
use crate::event::has_come;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum number of bytes of citations and blocks of the provider's own tools that are held, as JSON.
const MOST_HELD: usize = 32 * 1024 * 1024;

/// A stretch of a message, as the provider has it. A message that has more than plain text is sealed with a list of
/// these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Segment {
    /// Text: the next `length` bytes of the message's own.
    Text {
        length: usize,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        citations: Vec<Value>,
    },
    /// A block for the provider alone.
    Block(Value),
    /// The container that the provider ran its tools in. It is not part of the text.
    Container(Container),
}

/// The container in which the provider ran its tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Container {
    pub(super) id: String,
    /// The time at which the container expires, as the provider writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<String>,
}

impl Container {
    pub(super) fn is_gone(&self, now: Timestamp) -> bool {
        let expires_at = self.expires_at.as_deref();
        expires_at.is_some_and(|time| has_come(time, now))
    }
}

/// The layout of the current message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Layout {
    segments: Vec<Segment>,
    /// The number of bytes of text after the last segment.
    length: usize,
    /// The citations of this text.
    citations: Vec<Value>,
    /// Whether a block follows the text.
    full: bool,
    /// Whether the message was sealed with its present layout: it continues with calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sealed: bool,
    /// The number of bytes that are held.
    held: usize,
}

impl Layout {
    /// Checks that `size` more bytes may be held.
    pub(super) fn reserve(&mut self, size: usize) -> Result<(), DecodeError> {
        self.held = self.held.saturating_add(size);
        if self.held > MOST_HELD {
            return Err(AnswerLimit::held(MOST_HELD).into());
        }
        Ok(())
    }

    /// Returns whether further text belongs to a new message.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0 && self.segments.is_empty() && self.citations.is_empty() && !self.full
    }

    /// Closes the message: only its container may still be added.
    pub(super) fn close(&mut self) {
        self.full = true;
    }

    #[inline]
    pub(super) fn add_text(&mut self, length: usize) {
        self.length += length;
    }

    pub(super) fn add_citation(&mut self, citation: Value) {
        self.citations.push(citation);
    }

    /// Ends a text block.
    pub(super) fn end_text(&mut self) {
        let length = std::mem::take(&mut self.length);
        let citations = std::mem::take(&mut self.citations);
        if length == 0 && citations.is_empty() {
            return;
        }
        match self.segments.last_mut() {
            Some(Segment::Text {
                length: before,
                citations: cited,
            }) if cited.is_empty() && citations.is_empty() => *before += length,
            _ => self.segments.push(Segment::Text { length, citations }),
        }
    }

    pub(super) fn add_block(&mut self, block: Value) {
        self.end_text();
        self.full |= self
            .segments
            .iter()
            .any(|segment| matches!(segment, Segment::Text { .. }));
        self.segments.push(Segment::Block(block));
    }

    pub(super) fn add_container(&mut self, container: Container) {
        self.end_text();
        self.segments.push(Segment::Container(container));
        self.sealed = false;
    }

    /// The message's stretches, unless it is plain text or they are known already.
    pub(super) fn seal(&mut self) -> Option<&[Segment]> {
        if std::mem::replace(&mut self.sealed, true) {
            return None;
        }
        self.end_text();
        let is_plain = self.segments.iter().all(
            |segment| matches!(segment, Segment::Text { citations, .. } if citations.is_empty()),
        );
        (!is_plain).then_some(&self.segments)
    }
}
