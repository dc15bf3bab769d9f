//! Deltas of steps.

use super::super::super::text_digest::Whole;
use super::super::event::{Delta, DeltaContent, DeltaKind};
use super::super::kept;
use super::super::step::WireContent;
use super::super::steps::State;
use super::{DIALECT, Decoder};
use crate::dialect::{DecodeError, Sink};
use crate::event::Violation;
use serde_json::{Map, Value, json};

/// The warning for a delta after the end of its step.
const LATE: &str = "a delta came after the end of its step";

impl Decoder {
    /// Handles a delta.
    pub(super) fn delta(
        &mut self,
        delta: Delta<'_>,
        bytes: usize,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let place = self.steps.at_index(delta.index);
        match (delta.content, place) {
            (DeltaContent::Piece(kind, text, _), _) => {
                let Some(at) = self.steps.of_piece(delta.index, kind)? else {
                    sink.warning("a delta of arguments that belong to no call was dropped");
                    return Ok(());
                };
                if self.steps.get(at).is_some_and(|step| step.is_done) {
                    sink.warning(LATE);
                }
                match kind {
                    DeltaKind::Text => Ok(self.text(at, &text, sink)?),
                    DeltaKind::Summary => Ok(self.thought(at, &text, sink)?),
                    DeltaKind::Arguments => self.arguments(at, &text, sink),
                }
            }
            (DeltaContent::Signature(signature), Some(at)) => {
                Ok(self.sign(at, Some(&signature), sink)?)
            }
            (DeltaContent::Annotations(all), Some(at)) => {
                for annotation in all {
                    self.citation(at, annotation, sink)?;
                }
                Ok(())
            }
            (DeltaContent::Content(content), place) => {
                let at = match place {
                    Some(at) if matches!(self.state(at), Some(State::Output { .. })) => Some(at),
                    _ => self.steps.of_piece(delta.index, DeltaKind::Text)?,
                };
                at.map_or(Ok(()), |at| Ok(self.other_content(at, content, sink)?))
            }
            (DeltaContent::Summary(content), _) => {
                Ok(self.answer.custom("thought_summary", content, sink)?)
            }
            (DeltaContent::Other(delta), Some(at)) => {
                kept::check(&mut self.held, bytes)?;
                if let Some(State::Other(Some(kept), _)) = self.state(at) {
                    kept.add(delta);
                }
                Ok(())
            }
            (_, None) => Ok(()),
        }
    }

    /// Emits text of an output.
    pub(super) fn text(
        &mut self,
        at: usize,
        text: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if text.is_empty() {
            return Ok(());
        }
        if self.message != Some(at) {
            self.answer.part(sink)?;
            self.message = Some(at);
        }
        if let Some(State::Output { said, .. }) = self.state(at) {
            said.add(text);
        }
        self.answer.text(text, sink)
    }

    /// Emits text of a thought's summary.
    pub(super) fn thought(
        &mut self,
        at: usize,
        text: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if text.is_empty() {
            return Ok(());
        }
        self.begin_reasoning(at, sink)?;
        if let Some(State::Thought { said, .. }) = self.state(at) {
            said.add(text);
        }
        self.answer.reasoning(text, sink)
    }

    /// Emits arguments of a call.
    fn arguments(&mut self, at: usize, text: &str, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        match self.state(at) {
            Some(State::Call {
                slot: Some(slot),
                said,
                given,
                ..
            }) => {
                // They are complete in the deltas.
                *given = None;
                said.add(text);
                let slot = *slot;
                Ok(self.answer.arguments(slot, text, sink)?)
            }
            Some(State::Other(Some(_), _)) => {
                kept::check(&mut self.held, text.len())?;
                if let Some(State::Other(Some(kept), _)) = self.state(at) {
                    kept.add_arguments(text);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Emits the rest of a call's arguments, which are complete here.
    pub(super) fn whole_arguments(
        &mut self,
        at: usize,
        whole: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let Some(State::Call {
            slot: Some(slot),
            said,
            given,
            ..
        }) = self.state(at)
        else {
            return Ok(());
        };
        let slot = *slot;
        match said.against(whole) {
            Whole::Same => Ok(()),
            Whole::Longer(rest) => {
                *given = None;
                said.add(rest);
                Ok(self.answer.arguments(slot, rest, sink)?)
            }
            // The same arguments may be written otherwise.
            Whole::Other if self.answer.is_whole(slot, sink) => Ok(()),
            Whole::Other => {
                sink.warning("the arguments of a call differ from their deltas, and replace them");
                Ok(self.answer.replace_arguments(slot, whole, sink)?)
            }
        }
    }

    pub(super) fn citation(
        &mut self,
        at: usize,
        annotation: Value,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if let Some(State::Output { citations, .. }) = self.state(at) {
            *citations += 1;
            self.answer.custom("citation", annotation, sink)?;
        }
        Ok(())
    }

    /// Emits content of an output that is no text, and keeps it for the next request.
    pub(super) fn other_content(
        &mut self,
        at: usize,
        content: WireContent<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let content = match content {
            WireContent::Text { text, .. } => return self.text(at, &text, sink),
            WireContent::Media(media, content) => {
                self.answer.media(&media, sink)?;
                content
            }
            WireContent::Other(content) => {
                self.answer.custom("output", content.clone(), sink)?;
                content
            }
        };
        if let Some(State::Output { others, .. }) = self.state(at) {
            *others += 1;
        }
        let step = json!({"type": "model_output", "content": [content]});
        self.seal(&step, sink)
    }

    /// Emits a complete step of the provider's own, and keeps it for the next request.
    pub(super) fn keep(
        &mut self,
        step: Map<String, Value>,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let step = Value::Object(step);
        self.answer.custom("provider_item", step.clone(), sink)?;
        self.seal(&step, sink)
    }

    /// Seals a step in a message of its own.
    fn seal(&mut self, step: &Value, sink: &mut dyn Sink) -> Result<(), Violation> {
        self.answer.part(sink)?;
        self.answer.seal_message(DIALECT, step, sink)?;
        self.answer.part(sink)?;
        self.message = None;
        Ok(())
    }
}
