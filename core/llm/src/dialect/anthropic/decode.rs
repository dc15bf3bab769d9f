use super::super::answer::{AnswerWriter, no_call};
use super::super::encoding::arguments;
use super::super::error::StreamError;
use super::super::template::{Fit, FrameReader, Gap, Templates};
use super::super::{DecodeError, HopIds, Sink};
use super::blocks::{Block, Blocks};
use super::event::{CallOpening, MessageStart, Opening, Piece, StreamEvent};
use super::layout::{Container, Layout};
use super::{SealedCall, SealedThinking, usage};
use crate::event::TokenUsage;
use crate::provider::Dialect;
use crate::wire::Frame;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

const DIALECT: Dialect = Dialect::Anthropic;

/// The result for a call of a model that declined.
const NOT_RUN: &str = "The call was not run: another model has taken over the answer.";

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands it a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The kind of delta in a frame that contains nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeltaKind {
    Text,
    Thinking,
    /// The input of the tool in the block with this index.
    Input(Option<u64>),
}

/// Decodes Messages streams.
///
/// The decoder holds no text, since the events have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: AnswerWriter,
    blocks: Blocks,
    layout: Layout,
    /// Whether the current message has calls, so that nothing may be added to it.
    called: bool,
    /// The number of calls of a model that declined, after another model has taken over.
    #[serde(default, skip_serializing_if = "is_zero")]
    declined: usize,
    /// The container in which the provider ran its tools, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    container: Option<Container>,
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            answer: AnswerWriter::new(ids),
            blocks: Blocks::default(),
            layout: Layout::default(),
            called: false,
            declined: 0,
            container: None,
        }
    }

    /// Reads a frame with an event.
    fn event(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let json = |reason: String| DecodeError::Json {
            dialect: "anthropic",
            reason,
        };
        let data = frame.data.trim_ascii();
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        match StreamEvent::read(text).map_err(|error| json(error.to_string()))? {
            StreamEvent::Passed => {}
            StreamEvent::MessageStart(start) => self.message_start(start, sink)?,
            StreamEvent::BlockStart { index, opening } => {
                self.begin(index, opening, data.len(), sink)?;
            }
            StreamEvent::Delta { index, piece } => {
                let said = match &piece {
                    Piece::Text(text) => Some((DeltaKind::Text, text)),
                    Piece::Thinking(text) => Some((DeltaKind::Thinking, text)),
                    Piece::Input(text) => Some((DeltaKind::Input(index), text)),
                    _ => None,
                };
                if let Some((kind, text)) = said {
                    templates.learn(frame, [(Gap::Text, Some(text.raw))], || kind);
                }
                self.delta(index, piece, data.len(), sink)?;
            }
            StreamEvent::BlockStop { index } => {
                if let Some(block) = self.blocks.close(index)? {
                    self.end_block(block, sink)?;
                }
            }
            StreamEvent::MessageDelta {
                stop_reason,
                refusal,
                container,
                usage,
            } => {
                usage::update(&mut self.answer.usage, &usage);
                self.container = container.or(self.container.take());
                self.stopped(stop_reason, refusal, sink)?;
            }
            StreamEvent::MessageStop => self.finish(sink)?,
            StreamEvent::Error(error) => self.fail(error, sink)?,
        }
        Ok(())
    }

    /// Emits the start of the message, and the blocks that it already has.
    fn message_start(
        &mut self,
        start: MessageStart<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let MessageStart {
            id,
            model,
            usage,
            container,
            blocks,
            stop_reason,
            refusal,
        } = start;
        let is_call = |(block, _): &&(Opening<'_>, usize)| matches!(block, Opening::Call(_));
        self.answer
            .room_for_calls(blocks.iter().filter(is_call).count())?;
        self.answer.start(sink)?;
        self.answer.name(id);
        if self.answer.model.is_none() {
            self.answer.model = model.map(Into::into);
        }
        usage::update(&mut self.answer.usage, &usage);
        self.container = container.or(self.container.take());
        for (opening, size) in blocks {
            let block = self.block_start(opening, size, sink)?;
            self.end_block(block, sink)?;
        }
        self.stopped(stop_reason, refusal, sink)?;
        Ok(())
    }

    /// Records why the model stopped, and emits its refusal, as far as the provider states them.
    fn stopped(
        &mut self,
        stop_reason: Option<Cow<'_, str>>,
        refusal: Option<Cow<'_, str>>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        if let Some(reason) = stop_reason {
            self.answer.stop_reason = Some(reason.into());
        }
        if let Some(refusal) = refusal {
            let refusal = Value::from(refusal.as_ref());
            self.answer.custom("refusal", refusal, sink)?;
        }
        Ok(())
    }

    fn begin(
        &mut self,
        index: Option<u64>,
        opening: Opening<'_>,
        size: usize,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        if let Opening::Call(_) = opening {
            self.answer.room_for_calls(1)?;
        }
        // An index that occurs again begins a new block.
        if index.is_some()
            && let Some(block) = self.blocks.close(index)?
        {
            self.end_block(block, sink)?;
        }
        // Only a tool's input is held.
        let held = match &opening {
            Opening::Call(CallOpening {
                input: Some(input), ..
            }) => input.len(),
            Opening::Own(_) => size,
            _ => 0,
        };
        self.blocks.check_room(held)?;
        let block = self.block_start(opening, size, sink)?;
        self.blocks.open(index, block, held);
        Ok(())
    }

    /// Emits the start of a block.
    fn block_start(
        &mut self,
        opening: Opening<'_>,
        size: usize,
        sink: &mut dyn Sink,
    ) -> Result<Block, DecodeError> {
        Ok(match opening {
            Opening::Text { text, citations } => {
                if !citations.is_empty() {
                    self.layout.reserve(size)?;
                }
                self.text(&text, sink)?;
                for citation in citations {
                    self.cite(citation, sink)?;
                }
                Block::Text
            }
            Opening::Thinking { text, signature } => {
                self.end_thinking(sink)?;
                self.thinking(&text, sink)?;
                self.sign(&signature, sink)?;
                Block::Thinking
            }
            Opening::Redacted(data) => {
                self.end_message(sink)?;
                self.answer.begin_reasoning(None, sink)?;
                let sealed = SealedThinking::Redacted(data.into());
                self.answer.seal_reasoning(DIALECT, &sealed, sink)?;
                self.answer.close(sink)?;
                Block::Passed
            }
            Opening::Call(call) => self.call_start(call, sink)?,
            Opening::Own(block) => {
                self.layout.reserve(size)?;
                self.answer.start(sink)?;
                Block::ServerTool {
                    block,
                    input: String::new(),
                }
            }
            Opening::ServerResult(block) => {
                self.layout.reserve(size)?;
                self.keep(block, sink)?;
                Block::Passed
            }
            Opening::Passed => Block::Passed,
        })
    }

    /// Emits the start of a tool call, and the input so far.
    fn call_start(
        &mut self,
        call: CallOpening<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Block, DecodeError> {
        let CallOpening {
            id,
            name,
            input,
            caller,
        } = call;
        self.seal_message(sink)?;
        self.layout.close();
        let slot = self.answer.begin_call(id.as_deref(), &name, sink)?;
        self.called = true;
        if let Some(caller) = caller {
            let sealed = SealedCall {
                caller: Some(caller),
                declined: false,
            };
            self.answer.seal_call(slot, DIALECT, &sealed, sink)?;
        }
        Ok(match input {
            // The text may be the first delta of the input.
            Some(input) if serde_json::from_str::<IgnoredAny>(&input).is_err() => {
                self.answer.arguments(slot, &input, sink)?;
                Block::Call { slot, input: None }
            }
            input => Block::Call {
                slot,
                input: input.map(Cow::into_owned),
            },
        })
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        piece: Piece<'_>,
        size: usize,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match piece {
            Piece::Text(text) => self.text(&text, sink),
            Piece::Thinking(text) => self.thinking(&text, sink),
            Piece::Input(text) => self.input(index, &text, sink),
            Piece::Signature(signature) => {
                let field = ("signature".to_owned(), Value::from(signature.as_ref()));
                match self.blocks.add_fields(index, [field], size)? {
                    true => Ok(()),
                    false => self.sign(&signature, sink),
                }
            }
            Piece::Compaction(fields) => {
                let fields = fields.into_iter().filter(|(name, _)| name != "type");
                self.blocks.add_fields(index, fields, size).map(|_| ())
            }
            Piece::Citation(citation) => {
                self.layout.reserve(size)?;
                self.cite(citation, sink)
            }
            Piece::Passed => Ok(()),
        }
    }

    #[inline]
    fn text(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if delta.is_empty() {
            return Ok(());
        }
        if self.layout.is_full() {
            self.part(sink)?;
        }
        self.layout.add_text(delta.len());
        Ok(self.answer.text(delta, sink)?)
    }

    #[inline]
    fn thinking(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if !self.layout.is_empty() && !delta.is_empty() {
            self.end_message(sink)?;
        }
        Ok(self.answer.reasoning(delta, sink)?)
    }

    #[inline]
    fn input(
        &mut self,
        index: Option<u64>,
        delta: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        if delta.is_empty() {
            return Ok(());
        }
        match self.blocks.find(index)? {
            Some(Block::Call { slot, input }) => {
                *input = None;
                Ok(self.answer.arguments(*slot, delta, sink)?)
            }
            Some(Block::ServerTool { .. }) => self.blocks.add_input(index, delta),
            Some(_) => Ok(()),
            None => {
                sink.warning("arguments for a tool call that never began");
                Ok(())
            }
        }
    }

    fn sign(&mut self, signature: &str, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if signature.is_empty() {
            return Ok(());
        }
        if !self.answer.is_reasoning() {
            self.end_message(sink)?;
            self.answer.begin_reasoning(None, sink)?;
        }
        let sealed = SealedThinking::Signature(signature.to_owned());
        Ok(self.answer.seal_reasoning(DIALECT, &sealed, sink)?)
    }

    fn end_thinking(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if self.answer.is_reasoning() {
            self.answer.close(sink)?;
        }
        Ok(())
    }

    fn cite(&mut self, citation: Value, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        // A citation may come before its text.
        if self.layout.is_full() {
            self.part(sink)?;
        }
        self.answer.custom("citation", citation.clone(), sink)?;
        self.layout.add_citation(citation);
        Ok(())
    }

    /// Emits a block that only the provider understands, and keeps it with its message.
    fn keep(&mut self, block: Value, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        let kind = block["type"].as_str().unwrap_or_default();
        let name = match kind {
            kind if kind.ends_with("_tool_use") => "server_tool_use",
            kind if kind.ends_with("_tool_result") => "server_tool_result",
            kind => kind,
        };
        self.answer.close(sink)?;
        if kind == "fallback" {
            self.decline_calls(sink)?;
        }
        if self.called {
            self.part(sink)?;
        }
        self.answer.custom(name, block.clone(), sink)?;
        self.layout.add_block(block);
        Ok(())
    }

    fn end_block(&mut self, block: Block, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        match block {
            Block::Text => self.layout.end_text(),
            Block::Thinking => self.end_thinking(sink)?,
            Block::Call { slot, input } => {
                if let Some(input) = input {
                    self.answer.arguments(slot, &input, sink)?;
                }
                self.answer.end_call(slot, sink)?;
            }
            Block::ServerTool { mut block, input } => {
                self.layout.reserve(input.len())?;
                if !input.is_empty() {
                    block["input"] = serde_json::from_str(&arguments(&input)).unwrap_or_default();
                }
                // A block without a summary is refused; a failed one has null.
                if block["content"] != "" {
                    self.keep(block, sink)?;
                }
            }
            Block::Passed => {}
        }
        Ok(())
    }

    /// Lets the next content belong to a new message.
    fn part(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.end_message(sink)?;
        Ok(self.answer.part(sink)?)
    }

    /// Ends the current message.
    fn end_message(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.seal_message(sink)?;
        self.layout = Layout::default();
        self.called = false;
        Ok(())
    }

    /// Seals what the current message has in addition to its text.
    fn seal_message(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if let Some(segments) = self.layout.seal() {
            self.answer.seal_message(DIALECT, segments, sink)?;
        }
        Ok(())
    }

    /// Handles a model that declines in favour of another. The first may have been stopped within a call: its calls do
    /// not run, and are not sent back.
    fn decline_calls(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        let sealed = SealedCall {
            caller: None,
            declined: true,
        };
        for slot in self.declined..self.answer.calls() {
            self.answer.end_call(slot, sink)?;
            self.answer.seal_call(slot, DIALECT, &sealed, sink)?;
            self.answer.answer_call(slot, NOT_RUN, sink)?;
        }
        self.declined = self.answer.calls();
        Ok(())
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        for block in self.blocks.close_all() {
            self.end_block(block, sink)?;
        }
        if let Some(container) = self.container.take() {
            self.layout.add_container(container);
        }
        self.seal_message(sink)?;
        if self.answer.lacks_calls("tool_use") {
            return self.fail(no_call(), sink);
        }
        Ok(self.answer.finish(sink)?)
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

    fn error(&mut self, data: &[u8], sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        Some(self.fail(StreamError::read(data), sink))
    }

    fn piece(&mut self, fit: Fit<'_, DeltaKind>, sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        match *fit.kind {
            DeltaKind::Text => self.text(fit.text, sink)?,
            DeltaKind::Thinking => self.thinking(fit.text, sink)?,
            DeltaKind::Input(index) => self.input(index, fit.text, sink)?,
        }
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        self.event(frame, templates, sink)
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

    fn is_done(&self) -> bool {
        self.answer.has_stopped()
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if self.is_done() {
            return self.finish(sink);
        }
        Ok(())
    }
}
