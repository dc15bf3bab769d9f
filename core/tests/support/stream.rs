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
    /// Whether every frame is read by a clone of the decoder, which has no templates.
    pub(crate) without_templates: bool,
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
            without_templates: false,
        }
    }

    pub(crate) fn receive(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        let Self {
            framer,
            decoder,
            recorder,
            snapshots,
            without_templates,
        } = self;
        framer.receive(chunk, |frame| {
            one(decoder, recorder, frame, *snapshots, *without_templates)
        })
    }

    pub(crate) fn end(&mut self) -> Result<(), DecodeError> {
        let Self {
            framer,
            decoder,
            recorder,
            snapshots,
            without_templates,
        } = self;
        framer.finish(|frame| one(decoder, recorder, frame, *snapshots, *without_templates))?;
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
    without_templates: bool,
) -> Result<(), DecodeError> {
    if without_templates {
        *decoder = decoder.clone();
    }
    decoder.frame(frame, recorder)?;
    if snapshots {
        let snapshot = serde_json::to_string(decoder).expect("a decoder is plain data");
        let restored: Decoder = serde_json::from_str(&snapshot).expect("a snapshot can be read");
        assert_eq!(serde_json::to_string(&restored).ok(), Some(snapshot));
        *decoder = restored;
    }
    Ok(())
}
