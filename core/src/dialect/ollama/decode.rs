use super::super::answer::{Answer, Scratch};
use super::super::cursor::{Miss, RawText, Templates};
use super::super::{Decode, DecodeError, HopIds, Sink};
use super::delta::{Delta, Kind};
use super::line::Line;
use crate::event::{TokenUsage, Violation};
use crate::wire::Frame;
use serde::{Deserialize, Serialize};

/// Decodes Ollama's streams. It holds no text: what was said is in the events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: Answer,
    #[serde(skip)]
    scratch: Scratch,
    #[serde(skip)]
    templates: Templates<Kind>,
}

impl Decoder {
    pub(in super::super) fn new(ids: HopIds) -> Self {
        Self {
            answer: Answer::new(ids),
            scratch: Scratch::default(),
            templates: Templates::default(),
        }
    }

    /// A line that the cursor knows; `false` where it does not.
    fn delta(&mut self, data: &[u8], sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        let model_known = self.answer.model.is_some();
        let read = |data| Delta::read(data, model_known);
        let (kind, text) = match self.templates.read_or(data, read) {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(true),
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
            Kind::Content => self.answer.text(text, sink),
            Kind::Thinking => self.answer.reasoning(text, sink),
        })
    }

    /// Any line.
    fn line(&mut self, data: &[u8], sink: &mut dyn Sink) -> Result<(), DecodeError> {
        let json = |reason: String| DecodeError::Json {
            dialect: "ollama",
            reason,
        };
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        let Some(line) = Line::read(text).map_err(|error| json(error.to_string()))? else {
            return Ok(());
        };
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
        answer.reasoning(&line.thinking.unwrap_or_default(), sink)?;
        answer.text(&line.content.unwrap_or_default(), sink)?;
        for call in line.calls {
            let slot = answer.begin_call(call.id.as_deref(), &call.name, sink)?;
            answer.arguments(slot, &call.arguments, sink)?;
            answer.end_call(slot, sink)?;
        }
        if let Some(error) = line.error {
            return Ok(answer.fail(error.message, error.code, sink)?);
        }
        if let Some(done) = line.done {
            answer.stop_reason = done.reason;
            answer.usage = done.usage;
            answer.finish(sink)?;
        }
        Ok(())
    }
}

impl Decode for Decoder {
    fn frame(&mut self, frame: Frame<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        let data = frame.data.trim_ascii();
        if self.answer.is_over() || data.is_empty() {
            return Ok(());
        }
        if self.answer.is_running() && self.delta(data, sink)? {
            return Ok(());
        }
        self.line(data, sink)
    }

    fn usage(&mut self) -> Option<&TokenUsage> {
        self.answer.usage()
    }

    fn is_done(&self) -> bool {
        false
    }

    /// An answer ends with its last line; a body that ends without it was cut off.
    fn end(&mut self, _sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(())
    }
}
