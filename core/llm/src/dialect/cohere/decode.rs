use super::super::answer::{AnswerWriter, no_call};
use super::super::error::StreamError;
use super::super::template::{Fit, FrameReader, Gap, Templates};
use super::super::{DecodeError, HopIds, Sink};
use super::TOOL_PLAN;
use super::frame::{AnswerEnd, DeltaKind, FrameContent, Piece};
use crate::event::{Metadata, TokenUsage, Violation};
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Decodes Cohere's streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: AnswerWriter,
    /// Whether the open reasoning is the tool plan.
    planning: bool,
    /// The slots of calls by their wire index. The index comes from the peer, so it is a key and never a position.
    calls: BTreeMap<u64, usize>,
    /// The call that waits for its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting: Option<Waiting>,
}

/// A call with a name whose id has not come yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Waiting {
    index: Option<u64>,
    name: String,
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            answer: AnswerWriter::new(ids),
            planning: false,
            calls: BTreeMap::new(),
            waiting: None,
        }
    }

    /// Reads a frame that is not empty.
    fn read_frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let json = |reason: String| DecodeError::Json {
            dialect: "cohere",
            reason,
        };
        let data = frame.data.trim_ascii();
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        // A name that is not UTF-8 is unknown.
        let event = std::str::from_utf8(frame.event).unwrap_or_default();
        let said = FrameContent::read(event, text).map_err(|error| json(error.to_string()))?;
        if let Some((kind, text)) = said.piece() {
            templates.learn(frame, [(Gap::Text, Some(text))], || kind);
        }
        if let Some(Waiting { index, name }) = self.waiting.take() {
            // An id that comes after the name comes before anything else.
            let id = match &said {
                FrameContent::CallDelta {
                    index: other, id, ..
                } if *other == index => id.as_deref(),
                _ => None,
            };
            self.begin(index, id, &name, sink)?;
        }
        self.apply(said, sink)
    }

    /// Emits the content of a frame.
    fn apply(&mut self, content: FrameContent<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        match content {
            FrameContent::Nothing => {}
            FrameContent::Start { id } => {
                self.answer.name(id);
                self.answer.start(sink)?;
            }
            FrameContent::Pieces(pieces) => {
                self.answer.start(sink)?;
                for piece in &pieces {
                    match piece {
                        Piece::Text(text) => self.text(text, sink),
                        Piece::Thinking(text) => self.thinking(text, sink),
                        Piece::ToolPlan(text) => self.tool_plan(text, sink),
                    }?;
                }
            }
            FrameContent::ContentEnd => {
                self.planning = false;
                self.answer.close(sink)?;
            }
            FrameContent::CallStart {
                index,
                id,
                name: Some(name),
                arguments,
            } => {
                self.call_start(index, id.as_deref(), name, arguments.as_deref(), sink)?;
            }
            FrameContent::CallStart { name: None, .. } => {
                sink.warning("a tool call without a name was left out: no tool can run it");
            }
            FrameContent::CallDelta {
                index, arguments, ..
            } => match (self.slot(index), arguments) {
                (_, None) => {}
                (Some(slot), Some(arguments)) => self.answer.arguments(slot, &arguments, sink)?,
                (None, Some(_)) => sink.warning("arguments for a tool call that never began"),
            },
            FrameContent::CallEnd { index } => {
                if let Some(slot) = self.slot(index) {
                    self.answer.end_call(slot, sink)?;
                }
            }
            FrameContent::Citations(citations) => {
                for citation in citations {
                    self.answer.custom("citation", citation, sink)?;
                }
            }
            FrameContent::AnswerEnd(end) => self.finish(end, sink)?,
            FrameContent::Error(failure) => self.fail(failure, sink)?,
        }
        Ok(())
    }

    /// Begins a call, or waits for its id where the frame has only its name.
    fn call_start(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: Cow<'_, str>,
        arguments: Option<&str>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        if id.is_none() && arguments.is_none() {
            self.answer.room_for_calls(1)?;
            let name = name.into_owned();
            self.waiting = Some(Waiting { index, name });
            return Ok(());
        }
        let slot = self.begin(index, id, &name, sink)?;
        let arguments = arguments.unwrap_or_default();
        Ok(self.answer.arguments(slot, arguments, sink)?)
    }

    /// Begins a call and returns its slot.
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

    /// Returns the slot of the call with this index, or of the last call if there is no index.
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

    /// Emits a delta of text, which is not empty.
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

    fn finish(&mut self, end: AnswerEnd, sink: &mut dyn Sink) -> Result<(), Violation> {
        self.answer.stop_reason = end.finish_reason;
        self.answer.usage = end.usage.or(self.answer.usage.take());
        match end.failure {
            Some(failure) => self.answer.fail(failure, sink),
            None if self.answer.lacks_calls("TOOL_CALL") => self.answer.fail(no_call(), sink),
            None => self.answer.finish(sink),
        }
    }
}

/// The provider always ends an answer explicitly, so a body without an end was cut off.
impl FrameReader for Decoder {
    type DeltaKind = DeltaKind;

    fn takes_pieces(&self) -> bool {
        self.answer.is_running() && self.waiting.is_none()
    }

    fn is_over(&self) -> bool {
        self.answer.is_over()
    }

    fn error(&mut self, data: &[u8], sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        Some(self.fail(StreamError::read(data), sink))
    }

    fn fail(&mut self, error: StreamError, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(self.answer.fail(error, sink)?)
    }

    fn piece(&mut self, fit: Fit<'_, DeltaKind>, sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        match *fit.kind {
            DeltaKind::Text => self.text(fit.text, sink)?,
            DeltaKind::Thinking => self.thinking(fit.text, sink)?,
            DeltaKind::ToolPlan => self.tool_plan(fit.text, sink)?,
            DeltaKind::Arguments(index) => match self.slot(index) {
                Some(slot) => self.answer.arguments(slot, fit.text, sink)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        self.read_frame(frame, templates, sink)
    }

    fn usage(&self) -> Option<&TokenUsage> {
        self.answer.usage.as_ref()
    }

    fn name_usage(&mut self) {
        self.answer.name_usage();
    }

    fn response_id(&self) -> Option<&str> {
        self.answer.response_id.as_deref()
    }
}
