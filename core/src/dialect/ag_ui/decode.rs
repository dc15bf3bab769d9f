use super::chunks::Lanes;
use super::compatibility::Compatibility;
use super::delta::Deltas;
use super::enforcement::{self, Warnings};
use crate::dialect::{Decode, DecodeError, Dialect, HopIds, Sink};
use crate::event::{DEEPEST, Event, EventError, is_within};
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Display;

/// Decodes AG-UI streams, from 1.0 and from before: what is retired is translated, what is unknown is handed on with a
/// warning, what is malformed is refused, and chunks come out as start, content and end.
///
/// An event whose type is unknown comes out as [`Event::Unknown`]. It does not judge the order of events, and ends
/// nothing at the end of the stream: a stream that was cut off is for the order check to see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decoder {
    ids: HopIds,
    compatibility: Compatibility,
    lanes: Lanes,
    #[serde(skip)]
    deltas: Deltas,
}

impl Decoder {
    pub(in crate::dialect) fn new(ids: HopIds) -> Self {
        Self {
            ids,
            compatibility: Compatibility::default(),
            lanes: Lanes::default(),
            deltas: Deltas::default(),
        }
    }

    /// The events of a frame that is not a plain delta: all of them, or none.
    fn events(&mut self, data: &[u8], warnings: &mut Warnings) -> Result<Vec<Event>, DecodeError> {
        let mut events = Vec::new();
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
        if !event.get("type").is_some_and(Value::is_string) {
            return Err(EventError::NoType.into());
        }
        self.compatibility
            .translate(&mut event, &self.ids, warnings);
        enforcement::enforce(&mut event, warnings);
        let event = Event::from_object(event)?;
        enforcement::review(&event, warnings);
        self.lanes.expand(event, out)
    }
}

impl Decode for Decoder {
    fn frame(&mut self, frame: Frame<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if let Ok(event) = self.deltas.read(frame.data) {
            if !self.lanes.is_empty() {
                let mut ended = Vec::new();
                self.lanes.close(None, &mut ended);
                for event in &ended {
                    sink.event(event.into())?;
                }
            }
            return Ok(sink.event(event)?);
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

    fn end(&mut self, _sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(())
    }
}

fn parse(data: &[u8]) -> Result<Value, DecodeError> {
    // Text first, so that bytes which are not UTF-8 are found wherever they stand.
    let text = std::str::from_utf8(data).map_err(|error| json_error(&error))?;
    let value = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    if is_within(&value, DEEPEST) {
        Ok(value)
    } else {
        let reason = format!("it nests deeper than {DEEPEST} levels");
        Err(json_error(&reason))
    }
}

fn json_error(reason: &dyn Display) -> DecodeError {
    DecodeError::Json {
        dialect: Dialect::AgUi.name(),
        reason: reason.to_string(),
    }
}
