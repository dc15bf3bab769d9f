use super::super::answer::{Answer, Scratch};
use super::super::cursor::{Miss, RawText, Templates};
use super::super::error::StreamError;
use super::super::{Decode, DecodeError, HopIds, Sink};
use super::TOOL_PLAN;
use super::delta::{self, Kind};
use super::frame::{End, Piece, Said};
use crate::event::{Metadata, TokenUsage, Violation};
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Decodes its streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: Answer,
    /// Whether the tool plan is what is being said.
    planning: bool,
    /// Where the call with a wire index is. The index is the peer's number: a key, never a place.
    calls: BTreeMap<u64, usize>,
    /// The call whose id has not come yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting: Option<Waiting>,
    #[serde(skip)]
    scratch: Scratch,
    #[serde(skip)]
    templates: Templates<Kind>,
}

/// A call that has a name and no id yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Waiting {
    index: Option<u64>,
    name: String,
}

impl Decoder {
    pub(in super::super) fn new(ids: HopIds) -> Self {
        Self {
            answer: Answer::new(ids),
            planning: false,
            calls: BTreeMap::new(),
            waiting: None,
            scratch: Scratch::default(),
            templates: Templates::default(),
        }
    }

    /// A frame that the cursor knows; `false` where it does not.
    fn delta(&mut self, data: &[u8], sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        let (kind, text) = match self.templates.read_or(data, delta::read) {
            Ok(Some(piece)) => piece,
            Ok(None) => {
                self.answer.start(sink)?;
                return Ok(true);
            }
            Err(Miss) => return Ok(false),
        };
        let mut scratch = std::mem::take(&mut self.scratch.0);
        let said = self.say(kind, text, &mut scratch, sink);
        self.scratch.0 = scratch;
        match said {
            Ok(result) => result.map(|()| true).map_err(DecodeError::from),
            Err(Miss) => Ok(false),
        }
    }

    /// Says what the cursor read; nothing is said of a text that is not one after all.
    fn say(
        &mut self,
        kind: Kind,
        text: RawText<'_>,
        scratch: &mut String,
        sink: &mut dyn Sink,
    ) -> Result<Result<(), Violation>, Miss> {
        let text = text.unescape(scratch)?;
        Ok(match kind {
            Kind::Text => self.text(text, sink),
            Kind::Thinking => self.thinking(text, sink),
            Kind::ToolPlan => self.tool_plan(text, sink),
            Kind::Arguments(index) => {
                let slot = *self.calls.get(&index).ok_or(Miss)?;
                self.answer.arguments(slot, text, sink)
            }
        })
    }

    /// Any frame.
    fn whole(&mut self, event: &[u8], data: &[u8], sink: &mut dyn Sink) -> Result<(), DecodeError> {
        let json = |reason: String| DecodeError::Json {
            dialect: "cohere",
            reason,
        };
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        // A name that is not UTF-8 is none that is known.
        let event = std::str::from_utf8(event).unwrap_or_default();
        let said = Said::read(event, text).map_err(|error| json(error.to_string()))?;
        if let Some(Waiting { index, name }) = self.waiting.take() {
            // An id that comes after the name comes before anything else.
            let id = match &said {
                Said::CallDelta {
                    index: other, id, ..
                } if *other == index => id.as_deref(),
                _ => None,
            };
            self.begin(index, id, &name, sink)?;
        }
        match said {
            Said::Nothing => {}
            Said::Start => self.answer.start(sink)?,
            Said::Pieces(pieces) => {
                self.answer.start(sink)?;
                for piece in &pieces {
                    match piece {
                        Piece::Text(text) => self.text(text, sink),
                        Piece::Thinking(text) => self.thinking(text, sink),
                        Piece::ToolPlan(text) => self.tool_plan(text, sink),
                    }?;
                }
            }
            Said::ContentEnd => {
                self.planning = false;
                self.answer.close(sink)?;
            }
            Said::CallStart {
                index,
                id,
                name,
                arguments,
            } => match name {
                Some(name) if id.is_none() && arguments.is_none() => {
                    self.answer.room_for_calls(1)?;
                    let name = name.into_owned();
                    self.waiting = Some(Waiting { index, name });
                }
                Some(name) => {
                    let slot = self.begin(index, id.as_deref(), &name, sink)?;
                    let arguments = arguments.as_deref().unwrap_or_default();
                    self.answer.arguments(slot, arguments, sink)?;
                }
                None => sink.warning("a tool call without a name was left out: no tool can run it"),
            },
            Said::CallDelta {
                index, arguments, ..
            } => match (self.slot(index), arguments) {
                (_, None) => {}
                (Some(slot), Some(arguments)) => self.answer.arguments(slot, &arguments, sink)?,
                (None, Some(_)) => sink.warning("arguments for a tool call that never began"),
            },
            Said::CallEnd { index } => {
                if let Some(slot) = self.slot(index) {
                    self.answer.end_call(slot, sink)?;
                }
            }
            Said::Citations(citations) => {
                for citation in citations {
                    self.answer.custom("citation", citation, sink)?;
                }
            }
            Said::End(end) => self.finish(end, sink)?,
            Said::Error(failure) => self.fail(failure, sink)?,
        }
        Ok(())
    }

    /// A call begins: its slot.
    fn begin(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: &str,
        sink: &mut dyn Sink,
    ) -> Result<usize, DecodeError> {
        let slot = self.answer.begin_call(id, name, sink)?;
        self.planning = false;
        let index = index.unwrap_or_else(|| self.free_index());
        if let Some(known) = self.calls.insert(index, slot) {
            self.answer.end_call(known, sink)?;
        }
        Ok(slot)
    }

    /// The call that an index names; the last one where there is none.
    fn slot(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(index) => self.calls.get(&index).copied(),
            None => self.calls.values().max().copied(),
        }
    }

    fn free_index(&self) -> u64 {
        (0..)
            .find(|index| !self.calls.contains_key(index))
            .unwrap_or_default()
    }

    /// A piece of the text, not empty.
    #[inline]
    fn text(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        self.planning = false;
        self.answer.text(delta, sink)
    }

    fn thinking(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if std::mem::take(&mut self.planning) {
            self.answer.close(sink)?;
        }
        self.answer.reasoning(delta, sink)
    }

    fn tool_plan(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if !std::mem::replace(&mut self.planning, true) {
            let mut metadata = Metadata::new();
            metadata.insert(TOOL_PLAN.to_owned(), true.into());
            self.answer.begin_reasoning(Some(metadata), sink)?;
        }
        self.answer.reasoning(delta, sink)
    }

    fn finish(&mut self, end: End, sink: &mut dyn Sink) -> Result<(), Violation> {
        self.answer.stop_reason = end.finish_reason;
        self.answer.usage = end.usage.or(self.answer.usage.take());
        match end.failure {
            Some(failure) => self.fail(failure, sink),
            None => self.answer.finish(sink),
        }
    }

    fn fail(&mut self, failure: StreamError, sink: &mut dyn Sink) -> Result<(), Violation> {
        self.answer.fail(failure.message, failure.code, sink)
    }
}

impl Decode for Decoder {
    fn frame(&mut self, frame: Frame<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if self.answer.is_over() {
            return Ok(());
        }
        let data = frame.data.trim_ascii();
        if frame.event == b"error" {
            return Ok(self.fail(StreamError::read(data), sink)?);
        }
        match data {
            b"" => Ok(()),
            _ if self.waiting.is_none() && self.delta(data, sink)? => Ok(()),
            _ => self.whole(frame.event, data, sink),
        }
    }

    fn usage(&mut self) -> Option<&TokenUsage> {
        self.answer.usage()
    }

    /// The provider always says that it is done, so a body without that was cut off.
    fn is_done(&self) -> bool {
        false
    }

    fn end(&mut self, _sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(())
    }
}
