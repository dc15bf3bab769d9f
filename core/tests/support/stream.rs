//! A framer, a decoder and what comes of them, for any dialect.
#![allow(dead_code, reason = "each test uses its part")]

use stepwell_core::dialect::{Decode, DecodeError, Decoder, Dialect, HopIds, Sink};
use stepwell_core::event::{Event, EventRef, Violation};
use stepwell_core::wire::{Frame, FrameLimits, Framer};

/// Keeps all events.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Recorder {
    pub(crate) events: Vec<Event>,
    pub(crate) warnings: Vec<String>,
}

impl Sink for Recorder {
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        self.events.push(event.to_event());
        Ok(())
    }

    fn warning(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }
}

pub(crate) fn ids(dialect: Dialect) -> HopIds {
    HopIds {
        thread_id: "t".into(),
        run_id: "r".into(),
        provider: dialect.name().to_owned(),
    }
}

/// A framer and its decoder.
pub(crate) struct Stream {
    pub(crate) framer: Framer,
    pub(crate) decoder: Decoder,
    pub(crate) recorder: Recorder,
    /// Whether every frame ends with a snapshot of the decoder and its restoration.
    pub(crate) snapshots: bool,
    /// Whether every frame gets a key that the cursor leaves to serde.
    pub(crate) without_cursor: bool,
}

impl Stream {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self::with(dialect, ids(dialect))
    }

    pub(crate) fn with(dialect: Dialect, ids: HopIds) -> Self {
        Self {
            framer: dialect.framer(FrameLimits::default()),
            decoder: Decoder::new(dialect, ids),
            recorder: Recorder::default(),
            snapshots: false,
            without_cursor: false,
        }
    }

    pub(crate) fn receive(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        let Self {
            framer,
            decoder,
            recorder,
            snapshots,
            without_cursor,
        } = self;
        framer.receive(chunk, |frame| {
            one(decoder, recorder, frame, *snapshots, *without_cursor)
        })
    }

    pub(crate) fn end(&mut self) -> Result<(), DecodeError> {
        let Self {
            framer,
            decoder,
            recorder,
            snapshots,
            without_cursor,
        } = self;
        framer.finish(|frame| one(decoder, recorder, frame, *snapshots, *without_cursor))?;
        decoder.end(recorder)
    }

    /// Takes the whole body, in pieces of `size`.
    pub(crate) fn run(mut self, body: &[u8], size: usize) -> (Recorder, Result<(), DecodeError>) {
        let result = body
            .chunks(size)
            .try_for_each(|chunk| self.receive(chunk))
            .and_then(|()| self.end());
        (self.recorder, result)
    }
}

fn one(
    decoder: &mut Decoder,
    recorder: &mut Recorder,
    frame: Frame<'_>,
    snapshots: bool,
    without_cursor: bool,
) -> Result<(), DecodeError> {
    let spelled = without_cursor.then(|| with_escaped_key(frame.data));
    let data = spelled.as_deref().unwrap_or(frame.data);
    decoder.frame(Frame { data, ..frame }, recorder)?;
    if snapshots {
        let snapshot = serde_json::to_string(decoder).expect("a decoder is plain data");
        let restored: Decoder = serde_json::from_str(&snapshot).expect("a snapshot can be read");
        assert_eq!(&restored, decoder);
        *decoder = restored;
    }
    Ok(())
}

/// The frame with a meaningless key in front whose spelling the cursor leaves to serde. Not an object: as it is.
fn with_escaped_key(data: &[u8]) -> Vec<u8> {
    let trimmed = data.trim_ascii_start();
    let Some(rest) = trimmed.strip_prefix(b"{") else {
        return data.to_vec();
    };
    let comma: &[u8] = if rest.trim_ascii_start().starts_with(b"}") {
        b""
    } else {
        b","
    };
    [br#"{"\u0000":0"#, comma, rest].concat()
}
