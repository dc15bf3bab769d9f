use super::super::answer::AnswerWriter;
use super::super::error::StreamError;
use super::super::template::{Fit, FrameReader, Templates};
use super::super::{DecodeError, HopIds, Sink};
use super::line::{DeltaKind, Line};
use crate::event::TokenUsage;
use crate::wire::Frame;
use serde::{Deserialize, Serialize};

/// Decodes Ollama's streams. It holds no text: all text is in the events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: AnswerWriter,
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            answer: AnswerWriter::new(ids),
        }
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
        answer.reasoning(line.thinking.as_deref().unwrap_or_default(), sink)?;
        answer.text(line.content.as_deref().unwrap_or_default(), sink)?;
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
            DeltaKind::Content => self.answer.text(fit.text, sink)?,
            DeltaKind::Thinking => self.answer.reasoning(fit.text, sink)?,
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
        Ok(self.answer.fail(error, sink)?)
    }

    fn usage(&self) -> Option<&TokenUsage> {
        self.answer.usage.as_ref()
    }

    fn name_usage(&mut self) {
        self.answer.name_usage();
    }
}
