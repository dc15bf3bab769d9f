use super::super::answer::{AnswerWriter, no_call};
use super::super::anthropic::SealedThinking;
use super::super::error::{ApiErrorKind, StreamError};
use super::super::template::{Fit, FrameReader, Gap, Templates};
use super::super::{AnswerLimit, DecodeError, HopIds, Sink};
use super::event::{Opening, Piece, StreamEvent};
use crate::event::{TokenUsage, Violation};
use crate::provider::Dialect;
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const DIALECT: Dialect = Dialect::BedrockConverse;

/// The maximum number of open blocks that are tools.
const MAX_OPEN_BLOCKS: usize = 1024;

/// The kind of delta in an event that contains nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeltaKind {
    Text,
    Reasoning,
    /// The input of the tool in the block with this index.
    Input(Option<u64>),
}

/// Decodes streams of Converse.
///
/// The decoder holds no text, since the events have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: AnswerWriter,
    /// The open blocks of tools by their wire index, each with the slot of its call. A block without a slot is passed
    /// over. The index comes from the peer, so it is a key and never a position.
    tools: BTreeMap<u64, Option<usize>>,
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            answer: AnswerWriter::new(ids),
            tools: BTreeMap::new(),
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
            dialect: "bedrock-converse",
            reason,
        };
        let data = frame.data.trim_ascii();
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        // A name that is not UTF-8 is unknown.
        let name = std::str::from_utf8(frame.event).unwrap_or_default();
        match StreamEvent::read(name, text).map_err(|error| json(error.to_string()))? {
            StreamEvent::Passed => {}
            StreamEvent::MessageStart => self.answer.start(sink)?,
            StreamEvent::BlockStart { index, opening } => self.begin(index, opening, sink)?,
            StreamEvent::Delta {
                index,
                piece,
                padding,
            } => {
                let said = match &piece {
                    Piece::Text(text) => Some((DeltaKind::Text, text)),
                    Piece::Reasoning(text) => Some((DeltaKind::Reasoning, text)),
                    Piece::Input(text) => Some((DeltaKind::Input(index), text)),
                    _ => None,
                };
                if let Some((kind, text)) = said {
                    let gaps = [(Gap::Text, Some(text.raw)), (Gap::Passed, padding)];
                    templates.learn(frame, gaps, || kind);
                }
                self.delta(index, piece, sink)?;
            }
            StreamEvent::BlockStop { index } => self.end_block(index, sink)?,
            StreamEvent::MessageStop { stop_reason } => {
                self.answer.start(sink)?;
                // An answer without a reason is over, too.
                let reason = stop_reason.map_or_else(|| "end_turn".to_owned(), Into::into);
                self.answer.stop_reason = Some(reason);
            }
            StreamEvent::Metadata { usage } => {
                self.answer.usage = usage.or(self.answer.usage.take());
                // The last event, but for a stream of a gateway that has another order.
                if self.answer.has_stopped() {
                    self.finish(sink)?;
                }
            }
            StreamEvent::Error(error) => self.fail(error, sink)?,
        }
        Ok(())
    }

    fn begin(
        &mut self,
        index: Option<u64>,
        opening: Opening<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        self.answer.room_for_calls(1)?;
        if self.tools.len() >= MAX_OPEN_BLOCKS {
            return Err(AnswerLimit::open(MAX_OPEN_BLOCKS).into());
        }
        let slot = match opening {
            Opening::Call {
                id,
                name: Some(name),
            } => Some(self.answer.begin_call(id.as_deref(), &name, sink)?),
            Opening::Call { name: None, .. } => {
                sink.warning("a tool call without a name was left out: no tool can run it");
                None
            }
            Opening::Passed => None,
        };
        let index = index.unwrap_or_else(|| self.free_index());
        // An index that occurs again begins a new block.
        if let Some(Some(before)) = self.tools.insert(index, slot) {
            self.answer.end_call(before, sink)?;
        }
        Ok(())
    }

    fn free_index(&self) -> u64 {
        (0..)
            .find(|index| !self.tools.contains_key(index))
            .unwrap_or_default()
    }

    /// Returns the open block of a tool with this index, or the last one if there is no index.
    fn tool(&self, index: Option<u64>) -> Option<Option<usize>> {
        match index {
            Some(index) => self.tools.get(&index).copied(),
            None => self.tools.values().max().copied(),
        }
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        piece: Piece<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match piece {
            Piece::Text(text) => self.answer.text(&text, sink)?,
            Piece::Reasoning(text) => self.answer.reasoning(&text, sink)?,
            Piece::Signature(signature) => {
                if !self.answer.is_reasoning() {
                    self.answer.begin_reasoning(None, sink)?;
                }
                let sealed = SealedThinking::Signature(signature.into());
                self.answer.seal_reasoning(DIALECT, &sealed, sink)?;
            }
            Piece::Redacted(data) => {
                self.answer.begin_reasoning(None, sink)?;
                let sealed = SealedThinking::Redacted(data.into());
                self.answer.seal_reasoning(DIALECT, &sealed, sink)?;
                self.answer.close(sink)?;
            }
            Piece::Input(text) => match self.tool(index) {
                Some(Some(slot)) => self.answer.arguments(slot, &text, sink)?,
                Some(None) => {}
                None => sink.warning("arguments for a tool call that never began"),
            },
            Piece::Citation(citation) => self.answer.custom("citation", citation, sink)?,
            Piece::Passed => {}
        }
        Ok(())
    }

    fn end_block(&mut self, index: Option<u64>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        let index = index.or_else(|| {
            let last = self.tools.iter().max_by_key(|(_, slot)| **slot);
            last.map(|(index, _)| *index)
        });
        match index.and_then(|index| self.tools.remove(&index)) {
            Some(Some(slot)) => self.answer.end_call(slot, sink)?,
            Some(None) => {}
            // Another stretch of reasoning is another block, and has a signature of its own.
            None if self.answer.is_reasoning() => self.answer.close(sink)?,
            None => {}
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        let reason = self.answer.stop_reason.as_deref().unwrap_or_default();
        if let Some(message) = malformed(reason) {
            let code = reason.to_owned();
            let error = StreamError::of_kind(ApiErrorKind::UnreadableOutput, &code, message);
            return self.answer.fail(error, sink);
        }
        match self.answer.lacks_calls("tool_use") {
            true => self.answer.fail(no_call(), sink),
            false => self.answer.finish(sink),
        }
    }
}

/// Returns what went wrong, if the answer ended because Bedrock could not read what the model wrote.
fn malformed(stop_reason: &str) -> Option<&'static str> {
    match stop_reason {
        "malformed_model_output" => {
            Some("the model wrote an answer that the provider could not read")
        }
        "malformed_tool_use" => {
            Some("the model wrote a tool call that the provider could not read")
        }
        _ => None,
    }
}

impl FrameReader for Decoder {
    type DeltaKind = DeltaKind;

    fn takes_pieces(&self) -> bool {
        self.answer.is_running()
    }

    fn is_over(&self) -> bool {
        self.answer.is_over()
    }

    fn fail(&mut self, error: StreamError, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(self.answer.fail(error, sink)?)
    }

    fn piece(&mut self, fit: Fit<'_, DeltaKind>, sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        match *fit.kind {
            DeltaKind::Text => self.answer.text(fit.text, sink)?,
            DeltaKind::Reasoning => self.answer.reasoning(fit.text, sink)?,
            DeltaKind::Input(index) => match self.tool(index) {
                Some(Some(slot)) => self.answer.arguments(slot, fit.text, sink)?,
                _ => return Ok(false),
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

    fn is_done(&self) -> bool {
        self.answer.has_stopped()
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if self.is_done() {
            self.finish(sink)?;
        }
        Ok(())
    }
}
