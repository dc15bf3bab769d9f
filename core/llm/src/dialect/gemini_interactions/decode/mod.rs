mod pieces;
mod whole;

use super::super::answer::{AnswerWriter, NO_STOP_REASON, is_zero, no_answer, no_call};
use super::super::error::StreamError;
use super::super::template::{Fit, FrameReader, Templates};
use super::super::{DecodeError, EventPosition, HopIds, Sink};
use super::event::{DeltaKind, Outcome, Status, StreamEvent};
use super::kept::{self, Kept};
use super::step::{Signature, WireStep};
use super::steps::{State, Steps};
use super::stored;
use crate::event::{TokenUsage, Violation};
use crate::provider::Dialect;
use crate::wire::Frame;
use serde::{Deserialize, Serialize};

const DIALECT: Dialect = Dialect::GeminiInteractions;

/// The status of an interaction that waits for the results of tools.
const REQUIRES_ACTION: &str = "requires_action";

/// The statuses of an interaction that is not finished.
const UNFINISHED: [&str; 3] = ["queued", "in_progress", "idle"];

/// The statuses of an interaction that has failed.
const FAILED: [&str; 2] = ["failed", "cancelled"];

/// Decodes the streams of the Interactions API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: AnswerWriter,
    steps: Steps,
    /// The step whose message receives text.
    message: Option<usize>,
    /// The step whose reasoning is open.
    reasoning: Option<usize>,
    /// The size of the steps of the provider's own that were held, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    held: usize,
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            answer: AnswerWriter::new(ids),
            steps: Steps::default(),
            message: None,
            reasoning: None,
            held: 0,
        }
    }

    /// Reads a frame with an event.
    fn event(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<(DeltaKind, u64)>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let data = frame.data.trim_ascii();
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        let name = std::str::from_utf8(frame.event).unwrap_or_default();
        let event = StreamEvent::read(text, name).map_err(|error| json(error.to_string()))?;
        match event {
            StreamEvent::Nothing => {}
            StreamEvent::Status(status) => {
                let is_failed = self.status(status);
                // A failure that is the first thing to come needs no run.
                if !is_failed {
                    self.answer.start(sink)?;
                }
            }
            StreamEvent::Start(index, step) => {
                self.hold(&step, data.len())?;
                if let Some(at) = self.steps.start(index, &step)? {
                    self.start(at, step, sink)?;
                }
            }
            StreamEvent::Delta(delta) => {
                if let Some((kind, gaps)) = delta.piece() {
                    templates.learn(frame, gaps, || kind);
                }
                self.count(delta.usage.clone());
                self.delta(delta, data.len(), sink)?;
            }
            StreamEvent::Stop(index, usage) => {
                self.count(usage);
                if let Some(at) = self.steps.at_index(index) {
                    self.stop(at, sink)?;
                }
            }
            StreamEvent::Over(outcome) => self.over(*outcome, data.len(), sink)?,
            StreamEvent::Failed(error) => self.fail(error, sink)?,
        }
        Ok(())
    }

    /// Takes what is known of the interaction. Returns whether it has failed.
    fn status(&mut self, status: Status<'_>) -> bool {
        self.answer.name(status.id);
        if let (None, Some(model)) = (&self.answer.model, status.model) {
            self.answer.model = Some(model.into_owned());
        }
        self.count(status.usage);
        let Some(status) = status.status else {
            return false;
        };
        let is_finished = !UNFINISHED.contains(&&*status);
        self.answer.stop_reason = is_finished.then(|| status.clone().into_owned());
        FAILED.contains(&&*status)
    }

    /// Takes the usage of the answer so far. Each report has the total.
    fn count(&mut self, usage: Option<TokenUsage>) {
        if usage.is_some() {
            self.answer.usage = usage;
        }
    }

    /// Checks that a step of the provider's own may be held.
    fn hold(&mut self, step: &WireStep<'_>, bytes: usize) -> Result<(), DecodeError> {
        match step {
            WireStep::Other(_) => kept::check(&mut self.held, bytes),
            _ => Ok(()),
        }
    }

    fn state(&mut self, at: usize) -> Option<&mut State> {
        self.steps.get_mut(at).map(|step| &mut step.state)
    }

    /// Starts a step, with the content that it starts with.
    fn start(
        &mut self,
        at: usize,
        step: WireStep<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match step {
            WireStep::Thought { .. } => {
                // At once, though no text may come: the user sees that the model thinks.
                self.begin_reasoning(at, sink)?;
                self.content(at, step, sink)
            }
            WireStep::Call {
                id,
                name,
                arguments,
                signature,
            } => {
                let Some(name) = name else {
                    sink.warning("a call without a name was dropped");
                    return Ok(());
                };
                let begun = self.answer.begin_call(id.as_deref(), &name, sink)?;
                if let Some(State::Call { slot, given, .. }) = self.state(at) {
                    *slot = Some(begun);
                    *given = arguments.map(|raw| raw.get().to_owned());
                }
                Ok(self.sign(at, signature.as_deref(), sink)?)
            }
            WireStep::Other(step) => {
                self.answer
                    .custom("provider_item", step.clone().into(), sink)?;
                if let Some(State::Other(kept, _)) = self.state(at) {
                    *kept = Some(Box::new(Kept::new(step)));
                }
                Ok(())
            }
            step @ WireStep::Output { .. } => self.content(at, step, sink),
            WireStep::Input => Ok(()),
        }
    }

    fn begin_reasoning(&mut self, at: usize, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.reasoning == Some(at) && self.answer.is_reasoning() {
            return Ok(());
        }
        self.answer.begin_reasoning(None, sink)?;
        self.reasoning = Some(at);
        let begun = self.answer.last_reasoning();
        if let Some(State::Thought { stretch, .. }) = self.state(at) {
            *stretch = stretch.or(begun);
        }
        Ok(())
    }

    /// Seals the signature of a thought or a call.
    fn sign(
        &mut self,
        at: usize,
        signature: Option<&str>,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let Some(signature) = signature else {
            return Ok(());
        };
        let sealed = Signature {
            signature: signature.into(),
        };
        match self.state(at) {
            Some(State::Thought {
                stretch, is_signed, ..
            }) => {
                *is_signed = true;
                let Some(stretch) = *stretch else {
                    return Ok(());
                };
                self.answer
                    .seal_reasoning_at(stretch, DIALECT, &sealed, sink)
            }
            Some(State::Call {
                slot: Some(slot), ..
            }) => {
                let slot = *slot;
                self.answer.seal_call(slot, DIALECT, &sealed, sink)
            }
            Some(State::Other(Some(kept), _)) => {
                kept.sign(signature);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Stops a step: everything of it has come.
    fn stop(&mut self, at: usize, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        let Some(step) = self.steps.get_mut(at).filter(|step| !step.is_done) else {
            return Ok(());
        };
        step.is_done = true;
        match &mut step.state {
            State::Call {
                slot: Some(slot),
                given,
                ..
            } => {
                let (slot, given) = (*slot, given.take());
                let given = given.unwrap_or_default();
                self.answer.arguments(slot, &given, sink)?;
                self.answer.end_call(slot, sink)?;
            }
            State::Other(kept, _) => {
                if let Some(kept) = kept.take() {
                    self.keep(kept.finish(), sink)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn over(
        &mut self,
        outcome: Outcome<'_>,
        bytes: usize,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let places = self.steps.of_whole(&outcome.steps)?;
        let is_new = |at: &usize, step: &WireStep<'_>| {
            matches!(step, WireStep::Call { name: Some(_), .. })
                && matches!(
                    self.steps.get(*at).map(|step| &step.state),
                    Some(State::Call { slot: None, .. })
                )
        };
        let calls = places.iter().zip(&outcome.steps);
        let new = calls.filter(|(at, step)| is_new(at, step)).count();
        self.answer.room_for_calls(new)?;
        if let Some(other) = outcome
            .steps
            .iter()
            .find(|step| matches!(step, WireStep::Other(_)))
        {
            self.hold(other, bytes)?;
        }
        self.status(outcome.status);
        for (at, step) in places.into_iter().zip(outcome.steps) {
            self.complete(at, step, sink)?;
        }
        self.finish(outcome.error, sink)
    }

    /// Finishes the run by the status of the interaction.
    fn finish(
        &mut self,
        error: Option<StreamError>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        for at in 0..self.steps.len() {
            self.stop(at, sink)?;
        }
        let status = self.answer.stop_reason.as_deref();
        match status {
            Some(status) if FAILED.contains(&status) => {
                let error = error.unwrap_or_else(|| {
                    StreamError::new(format!("the interaction was {status}"), None)
                });
                self.fail(error, sink)
            }
            Some(REQUIRES_ACTION)
                if self.answer.lacks_calls(REQUIRES_ACTION) && !self.steps.has_others() =>
            {
                self.fail(no_call(), sink)
            }
            None if self.steps.len() == 0 => self.fail(no_answer(), sink),
            status => {
                if status.is_none() {
                    sink.warning(NO_STOP_REASON);
                }
                Ok(self.answer.finish(sink)?)
            }
        }
    }
}

fn json(reason: String) -> DecodeError {
    DecodeError::Json {
        dialect: DIALECT.name(),
        reason,
    }
}

impl FrameReader for Decoder {
    type DeltaKind = (DeltaKind, u64);

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

    /// Only of a step that has begun.
    fn piece(
        &mut self,
        fit: Fit<'_, (DeltaKind, u64)>,
        sink: &mut dyn Sink,
    ) -> Result<bool, DecodeError> {
        let (kind, index) = *fit.kind;
        let Some(at) = self.steps.at_index(Some(index)) else {
            return Ok(false);
        };
        let (message, reasoning) = (self.message, self.reasoning);
        let Some(step) = self.steps.get_mut(at).filter(|step| !step.is_done) else {
            return Ok(false);
        };
        match (&mut step.state, kind) {
            (State::Output { said, .. }, DeltaKind::Text)
                if message == Some(at) && self.answer.is_speaking() =>
            {
                said.add(fit.text);
                self.answer.text(fit.text, sink)?;
            }
            (State::Thought { said, .. }, DeltaKind::Summary)
                if reasoning == Some(at) && self.answer.is_reasoning() =>
            {
                said.add(fit.text);
                self.answer.reasoning(fit.text, sink)?;
            }
            (
                State::Call {
                    slot: Some(slot),
                    said,
                    ..
                },
                DeltaKind::Arguments,
            ) if !said.is_nothing() => {
                said.add(fit.text);
                self.answer.arguments(*slot, fit.text, sink)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<(DeltaKind, u64)>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match frame.data.trim_ascii() {
            // The end of the body.
            b"[DONE]" => Ok(()),
            _ => self.event(frame, templates, sink),
        }
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

    fn event_position<'a>(&self, frame: Frame<'a>) -> Option<EventPosition<'a>> {
        stored::position(frame.data)
    }

    fn stored(&mut self, data: &[u8], sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        let interaction = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        let last = stored::last_event(interaction).map_err(|error| json(error.to_string()))?;
        let Some(last) = last else {
            return Ok(false);
        };
        let frame = Frame {
            data: last.as_bytes(),
            ..Frame::default()
        };
        self.event(frame, &mut Templates::default(), sink)?;
        Ok(true)
    }

    fn is_done(&self) -> bool {
        self.answer.has_stopped()
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        match self.is_done() {
            true => self.finish(None, sink),
            false => Ok(()),
        }
    }
}
