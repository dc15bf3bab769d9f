use super::super::answer::AnswerWriter;
use super::super::error::StreamError;
use super::super::template::{Fit, FrameReader, Templates};
use super::super::{DecodeError, HopIds, Sink};
use super::chunk::{Call, Chunk, DeltaKind, Piece, Signed};
use super::partial::Assembly;
use super::seal::Seal;
use crate::event::{ContentPart, TokenUsage, Violation};
use crate::provider::Dialect;
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Decodes Gemini's streams.
///
/// It holds no text except the arguments of a call that comes in fragments, and the last signatures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: AnswerWriter,
    last: Last,
    /// The arguments of the call that comes in fragments.
    assembly: Option<Assembly>,
    /// The slot of that call, once it has begun.
    open_call: Option<usize>,
}

/// The last emitted item, which a signature without text belongs to, and its seal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Last {
    what: What,
    seal: Seal<'static>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Nothing,
    Text,
    Thought,
    Call(usize),
}

/// A step of a frame, after the fragments of calls are joined.
enum Step<'a> {
    Emit(Piece<'a>),
    /// A call begins, without its arguments.
    Begin(Call<'a>),
    /// The signature of the call that has begun.
    Sign(Cow<'a, str>),
    /// The call that has begun is complete, with these arguments.
    End(Cow<'a, str>),
    Odd(&'static str),
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            answer: AnswerWriter::new(ids),
            last: Last {
                what: What::Nothing,
                seal: Seal::default(),
            },
            assembly: None,
            open_call: None,
        }
    }

    /// Reads a frame with a chunk.
    fn chunk(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let data = frame.data.trim_ascii();
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        if text.starts_with('[') {
            return Err(json(
                "an array, as Gemini answers where the request has no `alt=sse`".to_owned(),
            ));
        }
        let Some(chunk) = Chunk::read(text).map_err(|error| json(error.to_string()))? else {
            return Ok(());
        };
        if let Some((kind, gaps)) = chunk.piece() {
            templates.learn(frame, gaps, || kind);
        }
        let steps = self.steps(chunk.pieces)?;
        if let (None, Some(model)) = (&self.answer.model, chunk.model) {
            self.answer.model = Some(model.into_owned());
        }
        self.answer.name(chunk.response_id);
        if let Some(usage) = chunk.usage {
            self.count(usage);
        }
        // An error that is the first thing to come needs no run.
        if chunk.error.is_none() || !steps.is_empty() {
            self.answer.start(sink)?;
        }
        for step in steps {
            self.step(step, sink)?;
        }
        if let Some(reason) = chunk.stop_reason {
            self.answer.stop_reason = Some(reason.into_owned());
        }
        match chunk.error {
            Some(error) => self.fail(error, sink),
            None => Ok(()),
        }
    }

    /// Takes the usage of the answer so far. Each frame has the total, so the model's name is kept.
    fn count(&mut self, mut usage: TokenUsage) {
        let before = self.answer.usage.take();
        usage.model = before.and_then(|before| before.model);
        self.answer.usage = Some(usage);
        self.answer.name_usage();
    }

    /// Joins the fragments of calls. Nothing is emitted here, so that a frame over the limit emits nothing at all.
    fn steps<'a>(&mut self, pieces: Vec<Piece<'a>>) -> Result<Vec<Step<'a>>, DecodeError> {
        let mut steps = Vec::with_capacity(pieces.len());
        let mut calls = 0;
        for piece in pieces {
            match piece {
                Piece::Call(call) => {
                    calls += usize::from(call.name.is_some());
                    self.call_steps(call, &mut steps)?;
                }
                piece => steps.push(Step::Emit(piece)),
            }
        }
        self.answer.room_for_calls(calls)?;
        Ok(steps)
    }

    fn call_steps<'a>(
        &mut self,
        mut call: Call<'a>,
        steps: &mut Vec<Step<'a>>,
    ) -> Result<(), DecodeError> {
        let partial = std::mem::take(&mut call.partial);
        let will_continue = call.will_continue;
        if call.name.is_some() {
            if let Some(before) = self.assembly.take() {
                steps.push(Step::End(before.into_text().into()));
            }
            let arguments = call.arguments.take();
            steps.push(Step::Begin(call));
            if !will_continue && partial.is_empty() {
                steps.push(Step::End(arguments.unwrap_or_default()));
                return Ok(());
            }
            self.assembly = Some(Assembly::new(arguments.as_deref()));
        } else if self.assembly.is_none() {
            steps.push(Step::Odd("a call without a name was dropped"));
            return Ok(());
        } else {
            steps.extend(call.signature.map(Step::Sign));
        }
        for piece in &partial {
            if let Some(assembly) = &mut self.assembly
                && !assembly.put(piece)?
            {
                steps.push(Step::Odd(
                    "a piece of arguments without a place was dropped",
                ));
            }
        }
        if !will_continue && let Some(assembly) = self.assembly.take() {
            steps.push(Step::End(assembly.into_text().into()));
        }
        Ok(())
    }

    fn step(&mut self, step: Step<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        match step {
            Step::Emit(Piece::Text(signed)) => {
                self.text(&signed.text, sink)?;
                self.sign_text(signed, sink)?;
            }
            Step::Emit(Piece::Thought(signed)) => {
                self.thought(&signed.text, sink)?;
                self.sign_thought(signed, sink)?;
            }
            Step::Emit(Piece::Custom(name, value)) => self.answer.custom(name, value, sink)?,
            Step::Emit(Piece::Kept(name, part)) => self.keep(name, part, sink)?,
            Step::Begin(call) | Step::Emit(Piece::Call(call)) => {
                let name = call.name.unwrap_or_default();
                let slot = self.answer.begin_call(call.id.as_deref(), &name, sink)?;
                self.open_call = Some(slot);
                self.last.what = What::Call(slot);
                self.last.seal = Seal {
                    id: owned(call.id),
                    thought_signature: owned(call.signature),
                    ..Seal::default()
                };
                if !self.last.seal.is_empty() {
                    self.seal(sink)?;
                }
            }
            Step::Sign(signature) => {
                // If another item has begun meanwhile, the signature cannot be assigned.
                if self.last.what == self.open_call.map_or(What::Nothing, What::Call) {
                    self.last.seal.thought_signature = owned(Some(signature));
                    self.seal(sink)?;
                }
            }
            Step::End(arguments) => {
                if let Some(slot) = self.open_call.take() {
                    self.answer.arguments(slot, &arguments, sink)?;
                    self.answer.end_call(slot, sink)?;
                }
            }
            Step::Odd(warning) => sink.warning(warning),
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, text: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if text.is_empty() {
            return Ok(());
        }
        if self.last.what != What::Text || !self.last.seal.is_empty() {
            self.begin(What::Text, sink)?;
        }
        self.answer.text(text, sink)
    }

    #[inline]
    fn thought(&mut self, text: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if text.is_empty() {
            return Ok(());
        }
        if self.last.what != What::Thought || !self.last.seal.is_empty() {
            self.begin(What::Thought, sink)?;
        }
        self.answer.reasoning(text, sink)
    }

    /// Something new begins; a part of the same kind that is signed is not gone on with.
    fn begin(&mut self, what: What, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.last.what == what {
            self.answer.part(sink)?;
        }
        self.last = Last {
            what,
            seal: Seal::default(),
        };
        Ok(())
    }

    /// Handles a part that is neither text nor a call: it is reported to the app, and kept in a message of its own.
    fn keep(
        &mut self,
        name: &str,
        part: Map<String, Value>,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let content = part.get(name).cloned().unwrap_or_default();
        match made(name, &content) {
            Some(made) => self.answer.media(&made, sink)?,
            None => self.answer.custom(name, content, sink)?,
        }
        self.answer.part(sink)?;
        let seal = Seal {
            part: Some(part),
            ..Seal::default()
        };
        self.answer.seal_message(Dialect::Gemini, &seal, sink)?;
        self.answer.part(sink)?;
        self.begin(What::Nothing, sink)
    }

    fn sign_text(&mut self, signed: Signed<'_>, sink: &mut dyn Sink) -> Result<(), Violation> {
        let Some(signature) = owned(signed.signature) else {
            return Ok(());
        };
        if !signed.text.is_empty() {
            self.last.seal.thought_signature = Some(signature);
            self.last.seal.length = Some(signed.text.len());
            return self.seal(sink);
        }
        if self.last.what == What::Nothing || self.last.seal.trailing.is_some() {
            self.answer.part(sink)?;
            self.begin(What::Text, sink)?;
        }
        self.last.seal.trailing = Some(signature);
        self.seal(sink)
    }

    fn sign_thought(&mut self, signed: Signed<'_>, sink: &mut dyn Sink) -> Result<(), Violation> {
        let Some(signature) = owned(signed.signature) else {
            return Ok(());
        };
        if self.last.what != What::Thought || !self.last.seal.is_empty() {
            self.begin(What::Thought, sink)?;
            self.answer.begin_reasoning(None, sink)?;
        }
        self.last.seal.thought_signature = Some(signature);
        self.last.seal.length = Some(signed.text.len());
        self.seal(sink)
    }

    fn seal(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        let Self { answer, last, .. } = self;
        match last.what {
            What::Nothing | What::Text => answer.seal_message(Dialect::Gemini, &last.seal, sink),
            What::Thought => answer.seal_reasoning(Dialect::Gemini, &last.seal, sink),
            What::Call(slot) => answer.seal_call(slot, Dialect::Gemini, &last.seal, sink),
        }
    }
}

fn json(reason: String) -> DecodeError {
    DecodeError::Json {
        dialect: "gemini",
        reason,
    }
}

/// A picture or sound that the model made.
fn made(name: &str, content: &Value) -> Option<ContentPart> {
    let text = |field: &str| content.get(field).and_then(Value::as_str);
    let (media_type, data) = (text("mimeType")?, text("data")?);
    let is_data = name == "inlineData" && !data.is_empty();
    is_data.then(|| ContentPart::from_base64(data, media_type))
}

fn owned(text: Option<Cow<'_, str>>) -> Option<Cow<'static, str>> {
    text.map(|text| Cow::Owned(text.into_owned()))
}

impl FrameReader for Decoder {
    type DeltaKind = DeltaKind;

    fn takes_pieces(&self) -> bool {
        self.answer.is_running()
    }

    fn is_over(&self) -> bool {
        self.answer.is_over()
    }

    /// Reads an error frame; an empty one has nothing to read.
    fn error(&mut self, data: &[u8], sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        let error = (!data.is_empty()).then(|| StreamError::read(data))?;
        Some(self.fail(error, sink))
    }

    fn fail(&mut self, error: StreamError, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(self.answer.fail(error, sink)?)
    }

    fn piece(&mut self, fit: Fit<'_, DeltaKind>, sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        if let Some(usage) = fit.kind.usage(fit.counts) {
            self.count(usage);
        }
        match fit.kind.is_thought {
            true => self.thought(fit.text, sink)?,
            false => self.text(fit.text, sink)?,
        }
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        self.chunk(frame, templates, sink)
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
            if let Some(assembly) = self.assembly.take() {
                self.step(Step::End(assembly.into_text().into()), sink)?;
            }
            return Ok(self.answer.finish(sink)?);
        }
        if !self.answer.is_running() && !self.answer.is_over() {
            sink.warning(
                "no event of an answer came; where the request has no `alt=sse`, Gemini answers with a JSON array",
            );
        }
        Ok(())
    }
}
