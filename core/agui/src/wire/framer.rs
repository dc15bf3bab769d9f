use super::{
    EventStreamFramer, Frame, JsonLinesFramer, LengthPrefixedFramer, SseFramer, WireError,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A framer of any kind, for callers that only know the kind at run time.
///
/// ```
/// use stepwell_agui::wire::{FrameLimits, Framer, JsonLinesFramer, WireError};
///
/// let mut framer = Framer::JsonLines(JsonLinesFramer::new(FrameLimits::default()));
/// let mut texts = Vec::new();
/// framer.receive::<WireError>(b"{\"done\":false}\n{\"do", |frame| {
///     texts.push(frame.data.to_vec());
///     Ok(())
/// })?;
/// assert_eq!(texts, [b"{\"done\":false}"]);
/// # Ok::<(), WireError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framer {
    /// A body of server-sent events.
    Sse(SseFramer),
    /// A body of one JSON text a line.
    JsonLines(JsonLinesFramer),
    /// A body of frames with their length before them.
    LengthPrefixed(LengthPrefixedFramer),
    /// A body of AWS's messages.
    EventStream(EventStreamFramer),
}

impl Framer {
    /// Receives the next bytes of the body, and passes on each frame that they complete.
    ///
    /// # Errors
    ///
    /// A [`WireError`] when a limit is passed or the framer is already in error; else what `on_frame` returned.
    pub fn receive<E: From<WireError>>(
        &mut self,
        chunk: &[u8],
        on_frame: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Sse(framer) => framer.receive(chunk, on_frame),
            Self::JsonLines(framer) => framer.receive(chunk, on_frame),
            Self::LengthPrefixed(framer) => framer.receive(chunk, on_frame),
            Self::EventStream(framer) => framer.receive(chunk, on_frame),
        }
    }

    /// Returns the last event id, or an empty slice. Only server-sent events have one.
    #[must_use]
    #[inline]
    pub fn last_event_id(&self) -> &[u8] {
        match self {
            Self::Sse(framer) => framer.last_event_id(),
            Self::JsonLines(_) | Self::LengthPrefixed(_) | Self::EventStream(_) => &[],
        }
    }

    /// Returns the delay that the server asks for before a reconnect. Only server-sent events can have one.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        match self {
            Self::Sse(framer) => framer.retry(),
            Self::JsonLines(_) | Self::LengthPrefixed(_) | Self::EventStream(_) => None,
        }
    }

    /// Returns whether the framer holds no part of a frame.
    #[must_use]
    #[inline]
    pub fn is_between_frames(&self) -> bool {
        match self {
            Self::Sse(framer) => framer.is_between_frames(),
            Self::JsonLines(framer) => framer.is_between_frames(),
            Self::LengthPrefixed(framer) => framer.is_between_frames(),
            Self::EventStream(framer) => framer.is_between_frames(),
        }
    }

    /// Returns whether the body, if it ended here, would end within an incomplete frame. Server-sent events and JSON
    /// lines end with the body; a frame that has its length before it does not.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        match self {
            Self::Sse(_) | Self::JsonLines(_) => false,
            Self::LengthPrefixed(framer) => !framer.is_between_frames(),
            Self::EventStream(framer) => !framer.is_between_frames(),
        }
    }

    /// Drops what is held of a frame, after the connection broke. The next bytes are those of a new body.
    pub fn restart(&mut self) {
        match self {
            Self::Sse(framer) => framer.restart(),
            Self::JsonLines(framer) => framer.restart(),
            Self::LengthPrefixed(framer) => framer.restart(),
            Self::EventStream(framer) => framer.restart(),
        }
    }

    /// Ends the body, and hands out a last frame that lacks its end.
    ///
    /// See [`SseFramer::finish`], [`JsonLinesFramer::finish`],
    /// [`LengthPrefixedFramer::finish`] and [`EventStreamFramer::finish`].
    ///
    /// # Errors
    ///
    /// As for [`receive`](Self::receive).
    pub fn finish<E: From<WireError>>(
        &mut self,
        on_frame: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Sse(framer) => framer.finish(on_frame),
            Self::JsonLines(framer) => framer.finish(on_frame),
            Self::LengthPrefixed(framer) => framer.finish(),
            Self::EventStream(framer) => framer.finish(),
        }
    }
}

impl From<SseFramer> for Framer {
    fn from(framer: SseFramer) -> Self {
        Self::Sse(framer)
    }
}

impl From<JsonLinesFramer> for Framer {
    fn from(framer: JsonLinesFramer) -> Self {
        Self::JsonLines(framer)
    }
}

impl From<LengthPrefixedFramer> for Framer {
    fn from(framer: LengthPrefixedFramer) -> Self {
        Self::LengthPrefixed(framer)
    }
}

impl From<EventStreamFramer> for Framer {
    fn from(framer: EventStreamFramer) -> Self {
        Self::EventStream(framer)
    }
}
