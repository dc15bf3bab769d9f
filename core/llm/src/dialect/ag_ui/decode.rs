use super::binary;
use super::chunks::Lanes;
use super::compatibility::Compatibility;
use super::delta::{Delta, DeltaKind};
use super::enforcement::{self, Unknown, Warnings};
use crate::dialect::error::StreamError;
use crate::dialect::template::{Fit, FrameReader, Gap, Templates};
use crate::dialect::{DecodeError, HopIds, Sink};
use crate::event::{DEEPEST, Event, EventError, EventRef, Violation, is_within};
use crate::provider::Dialect;
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Display;

/// Decodes AG-UI streams, from 1.0 and from before. Retired events are translated, unknown content is dropped with a
/// warning, malformed content is refused, and chunks become start, content and end.
///
/// An error object that is not an event, as gateways send it, becomes `RUN_ERROR`, with a warning.
///
/// If unknown content is kept, an event of an unknown type becomes [`Event::Unknown`]. The decoder does not check the
/// order of events, and ends nothing at the end of the stream; the order check detects a stream that was cut off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    ids: HopIds,
    compatibility: Compatibility,
    lanes: Lanes,
    /// Whether the frames are protobuf, not JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_protobuf: bool,
    /// Whether unknown events and fields are kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keeps_unknown: bool,
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            ids,
            compatibility: Compatibility::default(),
            lanes: Lanes::default(),
            is_protobuf: false,
            keeps_unknown: false,
        }
    }

    /// Sets whether unknown events and fields are kept.
    pub(in crate::dialect) fn keep_unknown(&mut self, keeps_unknown: bool) {
        self.keeps_unknown = keeps_unknown;
    }

    pub(crate) fn keeps_unknown(&self) -> bool {
        self.keeps_unknown
    }

    /// Reads frames as protobuf, not as JSON.
    #[cfg(feature = "protobuf")]
    pub(in crate::dialect) fn read_protobuf(&mut self) {
        self.is_protobuf = true;
    }

    /// Returns the events of a frame that is not a plain delta: all of them, or none.
    fn events(&mut self, data: &[u8], warnings: &mut Warnings) -> Result<Vec<Event>, DecodeError> {
        let mut events = Vec::new();
        if self.is_protobuf {
            let event = binary::event(data, warnings)?;
            if let Some(event) = event {
                self.event(event, warnings, &mut events)?;
            }
            return Ok(events);
        }
        match parse(data)? {
            // Some servers send several events at once, as an array.
            Value::Array(batch) => {
                for event in batch {
                    self.event(event, warnings, &mut events)?;
                }
            }
            event => self.event(event, warnings, &mut events)?,
        }
        Ok(events)
    }

    fn event(
        &mut self,
        event: Value,
        warnings: &mut Warnings,
        out: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let mut event: Map<String, Value> = match event {
            Value::Object(object) => object,
            _ => return Err(json_error(&"an event is a JSON object, and this is none")),
        };
        let kind = event.get("type").and_then(Value::as_str);
        if matches!(kind, None | Some("error"))
            && let Some(error) = StreamError::of(&event)
        {
            warnings.push("an error that is no event was taken for RUN_ERROR");
            return self.lanes.expand(error.into_event(None, None).into(), out);
        }
        if kind.is_none() {
            return Err(EventError::NoType.into());
        }
        self.compatibility
            .translate(&mut event, &self.ids, warnings);
        let unknown = match self.keeps_unknown {
            true => Unknown::Kept,
            false => Unknown::Dropped,
        };
        enforcement::enforce(&mut event, unknown, warnings);
        let mut event = Event::from_object(event)?;
        if !enforcement::review(&mut event, unknown, warnings) {
            return Ok(());
        }
        self.lanes.expand(event, out)
    }
}

impl FrameReader for Decoder {
    /// And the id of what it is of.
    type DeltaKind = (DeltaKind, String);

    const PASSES_EMPTY: bool = false;

    fn takes_pieces(&self) -> bool {
        !self.is_protobuf
    }

    fn is_over(&self) -> bool {
        false
    }

    fn piece(
        &mut self,
        fit: Fit<'_, (DeltaKind, String)>,
        sink: &mut dyn Sink,
    ) -> Result<bool, DecodeError> {
        let (kind, id) = fit.kind;
        delta(&mut self.lanes, kind.event(id, fit.text), sink)?;
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<(DeltaKind, String)>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        if self.is_protobuf {
            if let Some(event) = binary::delta(frame.data) {
                return Ok(delta(&mut self.lanes, event, sink)?);
            }
        } else if let Some(Delta {
            kind,
            id,
            text,
            raw,
        }) = Delta::read(frame.data)
        {
            let learnt = || (kind, id.clone().into_owned());
            templates.learn(frame, [(Gap::Text, Some(raw))], learnt);
            return Ok(delta(&mut self.lanes, kind.event(&id, &text), sink)?);
        }
        let mut warnings = Warnings::default();
        let events = self.events(frame.data, &mut warnings);
        for warning in &warnings.texts {
            sink.warning(warning);
        }
        if warnings.more > 0 {
            sink.warning(&format!("and {} more warnings in one frame", warnings.more));
        }
        for event in &events? {
            sink.event(event.into())?;
        }
        Ok(())
    }
}

/// Emits a plain delta, which ends an item that a chunk began before it.
#[inline]
fn delta(lanes: &mut Lanes, event: EventRef<'_>, sink: &mut dyn Sink) -> Result<(), Violation> {
    if !lanes.is_empty() {
        let mut ended = Vec::new();
        lanes.close(None, &mut ended);
        for event in &ended {
            sink.event(event.into())?;
        }
    }
    sink.event(event)
}

fn parse(data: &[u8]) -> Result<Value, DecodeError> {
    // The text is checked first, so that bytes that are not UTF-8 are found wherever they are.
    let text = std::str::from_utf8(data).map_err(|error| json_error(&error))?;
    let value = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    if is_within(&value, DEEPEST) {
        Ok(value)
    } else {
        let reason = format!("it nests deeper than {DEEPEST} levels");
        Err(json_error(&reason))
    }
}

pub(super) fn json_error(reason: &dyn Display) -> DecodeError {
    DecodeError::Json {
        dialect: Dialect::AgUi.name(),
        reason: reason.to_string(),
    }
}
