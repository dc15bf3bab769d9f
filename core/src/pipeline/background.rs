//! An answer that the provider makes in the background: its id, and how far it was read.

use crate::dialect::{Decode, Decoder, EventPosition, Resumption};
use crate::wire::Frame;
use serde::{Deserialize, Serialize};

/// How far an answer was read that the provider makes in the background.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Background {
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The position of the last event that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<EventPosition<'static>>,
    /// The same, when the present body began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_before: Option<EventPosition<'static>>,
    /// The number of events without a position that were read since the last one with an id. A resumed stream brings them
    /// again.
    #[serde(default, skip_serializing_if = "crate::zero::is_zero")]
    read_since: u32,
    /// The same, when the present body began.
    #[serde(default, skip_serializing_if = "crate::zero::is_zero")]
    read_before: u32,
    /// The number of events without a position that the present body is yet to bring again.
    #[serde(default, skip_serializing_if = "crate::zero::is_zero")]
    to_skip: u32,
    /// How often the answer was read as a whole and was not finished; `None` while its events are streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reads: Option<u32>,
}

/// The most reads of one answer that the provider no longer streams: two hours of them, at one in five seconds.
const MOST_READS: u32 = 1_440;

impl Background {
    /// Returns the state for this kind of resumption, if it needs any.
    pub(super) fn by(resumption: Resumption) -> Option<Box<Self>> {
        (resumption == Resumption::Background).then(Box::default)
    }

    /// Notes that another body begins.
    pub(super) fn reopen(&mut self) {
        self.last_before.clone_from(&self.last);
        self.read_before = self.read_since;
        self.to_skip = self.read_since;
    }

    /// Returns whether the present body has brought a new event.
    pub(super) fn has_gone_on(&self) -> bool {
        self.last != self.last_before || self.read_since != self.read_before
    }

    /// Takes the position of a frame. Returns whether the frame is new.
    pub(super) fn take(&mut self, frame: Frame<'_>, decoder: &Decoder) -> bool {
        let Some(position) = decoder.event_position(frame) else {
            return self.take_without_position(frame);
        };
        match &mut self.last {
            Some(last) if !position.is_after(last) => return false,
            Some(last) => last.assign(position),
            last @ None => {
                let mut first = EventPosition::Number(0);
                first.assign(position);
                *last = Some(first);
            }
        }
        self.read_since = 0;
        self.to_skip = 0;
        true
    }

    /// Takes a frame without a position. Returns whether the frame is new: where events have ids, not all of them need to
    /// have one.
    fn take_without_position(&mut self, frame: Frame<'_>) -> bool {
        let has_numbers = matches!(self.last, Some(EventPosition::Number(_)));
        if has_numbers || frame.is_stray || !frame.data.trim_ascii_start().starts_with(b"{") {
            return true;
        }
        let is_new = self.to_skip == 0;
        self.to_skip = self.to_skip.saturating_sub(1);
        self.read_since = self.read_since.saturating_add(u32::from(is_new));
        is_new
    }

    /// Keeps the id of the answer, once it is known.
    pub(super) fn keep_id(&mut self, decoder: &Decoder) {
        if self.id.is_none() {
            self.id = decoder.response_id().map(str::to_owned);
        }
    }

    /// Returns the provider's id of the answer, if known.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns whether the answer can be read on where its stream broke off. Without a position it is read as a whole.
    pub(crate) fn can_resume(&self) -> bool {
        self.id.is_some()
    }

    /// Returns the position of the last event that was read.
    pub(crate) fn last(&self) -> Option<&EventPosition<'static>> {
        self.last.as_ref()
    }

    /// Returns whether the answer is read as a whole, since the provider no longer streams it.
    pub(crate) fn is_read_whole(&self) -> bool {
        self.reads.is_some()
    }

    /// Reads the answer as a whole from now on.
    pub(crate) fn read_whole(&mut self) {
        self.reads = Some(0);
    }

    /// Counts a read of an answer that is not finished. Returns whether it may be read again.
    pub(crate) fn count_read(&mut self) -> bool {
        let reads = self.reads.unwrap_or(0).saturating_add(1);
        self.reads = Some(reads);
        reads < MOST_READS
    }
}
