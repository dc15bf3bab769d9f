//! Pieces of items: of texts, refusals, thoughts and arguments. What is said whole counts only where no piece came.

use super::super::event::{Kind, Piece, Place, Thought};
use super::super::items::State;
use super::{Decoder, with_phase};
use crate::dialect::{DecodeError, Sink};
use crate::event::Violation;
use serde_json::Value;

impl Decoder {
    pub(super) fn part(
        &mut self,
        at: usize,
        piece: &Piece<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let text = piece.text.as_ref();
        Ok(match piece.kind {
            Kind::Text(part) => self.text(at, part, text, piece.is_whole, sink),
            Kind::Refusal(part) => self.refusal(at, part, text, piece.is_whole, sink),
            Kind::Thought(part) => self.thought(at, part, text, piece.is_whole, sink),
            Kind::Arguments | Kind::Input => {
                if !text.is_empty() {
                    self.begin_waiting(at, sink)?;
                }
                self.arguments(at, text, piece.is_whole, sink)
            }
        }?)
    }

    /// Begins a call that waits for its id, without it.
    pub(super) fn begin_waiting(
        &mut self,
        at: usize,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let Some(State::Call {
            name, is_custom, ..
        }) = self.state(at)
        else {
            return Ok(());
        };
        match (name.take(), *is_custom) {
            (Some(name), is_custom) => self.begin_call(at, is_custom, None, Some(&name), sink),
            (None, _) => Ok(()),
        }
    }

    /// A piece of a message's text, or all of a part of it, which counts only if no piece of it came.
    pub(super) fn text(
        &mut self,
        at: usize,
        part: u64,
        text: &str,
        is_whole: bool,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let Some(State::Message { phase, texts, .. }) = self.state(at) else {
            return Ok(());
        };
        if (!texts.add(part) && is_whole) || text.is_empty() {
            return Ok(());
        }
        let phase = phase.clone();
        if self.message != Some(at) {
            self.answer.part(sink)?;
            self.message = Some(at);
            self.answer.begin_text(phase.map(with_phase), sink)?;
        }
        self.answer.text(text, sink)
    }

    pub(super) fn refusal(
        &mut self,
        at: usize,
        part: u64,
        text: &str,
        is_whole: bool,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let Some(State::Message { refusals, .. }) = self.state(at) else {
            return Ok(());
        };
        if (!refusals.add(part) && is_whole) || text.is_empty() {
            return Ok(());
        }
        self.answer.custom("refusal", text.into(), sink)
    }

    pub(super) fn thought(
        &mut self,
        at: usize,
        part: Thought,
        text: &str,
        is_whole: bool,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let Some(State::Reasoning {
            summary,
            content,
            last,
            ..
        }) = self.state(at)
        else {
            return Ok(());
        };
        let is_new = match part {
            Thought::Summary(part) => summary.add(part),
            Thought::Content(part) => content.add(part),
        };
        if (!is_new && is_whole) || text.is_empty() {
            return Ok(());
        }
        let is_parted = last.is_some_and(|last| last != part);
        *last = Some(part);
        self.begin_reasoning(at, sink)?;
        if is_parted {
            self.answer.reasoning("\n\n", sink)?;
        }
        self.answer.reasoning(text, sink)
    }

    /// A piece of a call's arguments, or all of them, which count only if no piece came.
    pub(super) fn arguments(
        &mut self,
        at: usize,
        text: &str,
        is_whole: bool,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let Some(State::Call {
            slot: Some(slot),
            is_custom,
            is_heard,
            ..
        }) = self.state(at)
        else {
            return Ok(());
        };
        let (slot, is_custom) = (*slot, *is_custom);
        let was_heard = std::mem::replace(is_heard, *is_heard || !text.is_empty());
        if was_heard && is_whole {
            return Ok(());
        }
        if !is_custom {
            return self.answer.arguments(slot, text, sink);
        }
        // Within a JSON string, whose quotes come before the first and after the last piece.
        let quoted = Value::from(text).to_string();
        let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        self.answer.arguments(slot, inner, sink)
    }

    pub(super) fn annotation(
        &mut self,
        place: &Place<'_>,
        annotation: Value,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let at = self.items.of_annotation(place);
        if let Some(State::Message { citations, .. }) = at.and_then(|at| self.state(at)) {
            *citations += 1;
            self.answer.custom("citation", annotation, sink)?;
        }
        Ok(())
    }
}
