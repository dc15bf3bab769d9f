use super::super::answer::AnswerWriter;
use super::super::error::StreamError;
use super::super::inline_thinking::{InlineThinking, Part};
use super::super::template::{Fit, FrameReader, Templates};
use super::super::{DecodeError, HopIds, Sink};
use super::line::{DeltaKind, Line};
use crate::event::{TokenUsage, Violation};
use crate::provider::ThinkTags;
use crate::wire::Frame;
use serde::{Deserialize, Serialize};

/// Decodes Ollama's streams. It holds no text: all text is in the events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: AnswerWriter,
    #[serde(default, skip_serializing_if = "InlineThinking::is_never")]
    thinking: InlineThinking,
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            answer: AnswerWriter::new(ids),
            thinking: InlineThinking::default(),
        }
    }

    pub(in super::super) fn split_thinking(&mut self, tags: ThinkTags) {
        self.thinking = InlineThinking::new(tags);
    }

    pub(in super::super) fn think_tags(&self) -> ThinkTags {
        self.thinking.tags()
    }

    /// Emits a delta of reasoning that has a field of its own, so that tags in the text are text.
    #[inline]
    fn reasoning(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.thinking.is_splitting() && !delta.is_empty() {
            self.end_thinking(sink)?;
        }
        self.answer.reasoning(delta, sink)
    }

    /// Emits a delta of the answer's content.
    #[inline]
    fn content(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if !self.thinking.is_splitting() {
            return self.answer.text(delta, sink);
        }
        let answer = &mut self.answer;
        self.thinking.split(delta, |part| emit(answer, part, sink))
    }

    /// Ends the thinking that is part of the text: what is held is emitted, and the rest of the answer is text.
    fn end_thinking(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        let answer = &mut self.answer;
        self.thinking.end(|part| emit(answer, part, sink))
    }

    /// Reads a line that is not empty.
    fn line(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let json = |reason: String| DecodeError::Json {
            dialect: "ollama",
            reason,
        };
        let data = frame.data.trim_ascii();
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        let Some(line) = Line::read(text).map_err(|error| json(error.to_string()))? else {
            return Ok(());
        };
        if let Some((kind, gaps)) = line.piece() {
            templates.learn(frame, gaps, || kind);
        }
        let answer = &mut self.answer;
        answer.room_for_calls(line.calls.len())?;
        if let (None, Some(model)) = (&answer.model, line.model) {
            answer.model = Some(model.into_owned());
        }
        let says = line.thinking.is_some() || line.content.is_some() || !line.calls.is_empty();
        // An error that is the first thing to come needs no run.
        if line.error.is_none() || says {
            answer.start(sink)?;
        }
        self.reasoning(line.thinking.as_deref().unwrap_or_default(), sink)?;
        self.content(line.content.as_deref().unwrap_or_default(), sink)?;
        if !line.calls.is_empty() || line.error.is_some() || line.done.is_some() {
            self.end_thinking(sink)?;
        }
        let answer = &mut self.answer;
        for call in line.calls {
            let slot = answer.begin_call(call.id.as_deref(), &call.name, sink)?;
            answer.arguments(slot, &call.arguments, sink)?;
            answer.end_call(slot, sink)?;
        }
        if let Some(error) = line.error {
            return Ok(answer.fail(error, sink)?);
        }
        if let Some(done) = line.done {
            answer.stop_reason = done.reason;
            answer.usage = done.usage;
            answer.finish(sink)?;
        }
        Ok(())
    }
}

fn emit(answer: &mut AnswerWriter, part: Part<'_>, sink: &mut dyn Sink) -> Result<(), Violation> {
    match part {
        Part::Text(text) => answer.text(text, sink),
        Part::Thinking(text) => answer.reasoning(text, sink),
    }
}

/// An answer ends with its last line; a body that ends without it was cut off.
impl FrameReader for Decoder {
    type DeltaKind = DeltaKind;

    fn takes_pieces(&self) -> bool {
        self.answer.is_running()
    }

    fn is_over(&self) -> bool {
        self.answer.is_over()
    }

    fn piece(&mut self, fit: Fit<'_, DeltaKind>, sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        match fit.kind {
            DeltaKind::Content => self.content(fit.text, sink)?,
            DeltaKind::Thinking => self.reasoning(fit.text, sink)?,
        }
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        self.line(frame, templates, sink)
    }

    fn fail(&mut self, error: StreamError, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.end_thinking(sink)?;
        Ok(self.answer.fail(error, sink)?)
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if self.answer.is_running() {
            self.end_thinking(sink)?;
        }
        Ok(())
    }

    fn usage(&self) -> Option<&TokenUsage> {
        self.answer.usage.as_ref()
    }

    fn name_usage(&mut self) {
        self.answer.name_usage();
    }
}
