//! Deltas of items: of texts, refusals, reasoning and arguments. The complete text at the end of an item counts: what
//! the deltas lacked is emitted then, and the app is notified where they differ.

use super::super::super::text_digest::Whole;
use super::super::event::{DeltaKind, ItemRef, Piece, Thought};
use super::super::items::State;
use super::{Decoder, INPUT, with_phase};
use crate::dialect::{DecodeError, Sink};
use crate::event::Violation;
use serde_json::Value;

const LATE_TEXT: &str = "text came behind the end of its item, and is shown all the same";
const LATE_ARGUMENTS: &str =
    "arguments of a tool call came behind its end, and were left out: what its end said counts";
const REPLACED_ARGUMENTS: &str =
    "the arguments of a tool call ended as others than their pieces said: what the end says counts";
const REPLACED_TEXT: &str =
    "the text of a message ended as another than its pieces said: what the end says counts";
const OTHER_TEXT: &str =
    "the text of a message ended as another than its pieces said, which were over: they stay";
const OTHER_THOUGHT: &str = "reasoning ended as another than its pieces said: they stay";

impl Decoder {
    pub(super) fn part(
        &mut self,
        at: usize,
        piece: &Piece<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let text = piece.text.as_ref();
        Ok(match piece.kind {
            DeltaKind::Text(part) => self.text(at, part, text, piece.is_whole, sink),
            DeltaKind::Refusal(part) => self.refusal(at, part, text, piece.is_whole, sink),
            DeltaKind::Thought(part) => self.thought(at, part, text, piece.is_whole, sink),
            DeltaKind::Arguments | DeltaKind::Input => {
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

    /// Handles a delta after the end of its item: some gateways end an item at its first delta, and continue.
    pub(super) fn late(
        &mut self,
        at: usize,
        piece: &Piece<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let Some(item) = self.items.get_mut(at) else {
            return Ok(());
        };
        let is_news = match (&item.state, piece.kind) {
            _ if !piece.is_whole => !piece.text.is_empty(),
            (State::Message { texts, .. }, DeltaKind::Text(part)) => {
                matches!(texts.against(part, &piece.text), Whole::Longer(_))
            }
            _ => false,
        };
        if !is_news {
            return Ok(());
        }
        let is_call = matches!(item.state, State::Call { .. });
        if !std::mem::replace(&mut item.is_late, true) {
            sink.warning(if is_call { LATE_ARGUMENTS } else { LATE_TEXT });
        }
        if is_call {
            return Ok(());
        }
        self.message = self.message.filter(|_| self.answer.is_speaking());
        self.part(at, piece, sink)
    }

    /// Handles a delta of a message's text, or all of a part of it.
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
        let text = match is_whole {
            false => text,
            true => match texts.against(part, text) {
                Whole::Same => "",
                Whole::Longer(rest) => rest,
                Whole::Other => return self.replace_text(at, part, text, sink),
            },
        };
        if text.is_empty() {
            return Ok(());
        }
        let phase = phase.clone();
        if self.message != Some(at) {
            self.answer.part(sink)?;
            self.message = Some(at);
            self.message_bytes = 0;
            self.answer.begin_text(phase.map(with_phase), sink)?;
            if let Some(State::Message { texts, .. }) = self.state(at) {
                texts.leave_message();
            }
        }
        let from = self.message_bytes;
        self.message_bytes += text.len();
        if let Some(State::Message { texts, .. }) = self.state(at) {
            texts.add(part, text, from);
        }
        self.answer.text(text, sink)
    }

    /// Handles the end of a part of a message with a text that differs from its deltas.
    fn replace_text(
        &mut self,
        at: usize,
        part: u64,
        text: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let is_open = self.message == Some(at) && self.answer.is_speaking();
        let from = match self.state(at) {
            Some(State::Message { texts, .. }) if is_open => texts.replace(part, text),
            _ => None,
        };
        let Some(from) = from else {
            sink.warning(OTHER_TEXT);
            return Ok(());
        };
        sink.warning(REPLACED_TEXT);
        self.message_bytes = from + text.len();
        self.answer.replace_text(from, text, sink)
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
        let text = match is_whole {
            false => text,
            true => match refusals.against(part, text) {
                Whole::Longer(rest) => rest,
                // The complete text is kept with the message.
                Whole::Same | Whole::Other => "",
            },
        };
        if text.is_empty() {
            return Ok(());
        }
        refusals.add(part, text, 0);
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
        let (parts, index) = match part {
            Thought::Summary(index) => (summary, index),
            Thought::Content(index) => (content, index),
        };
        let text = match is_whole {
            false => text,
            true => match parts.against(index, text) {
                Whole::Same => "",
                Whole::Longer(rest) => rest,
                Whole::Other => {
                    sink.warning(OTHER_THOUGHT);
                    ""
                }
            },
        };
        if text.is_empty() {
            return Ok(());
        }
        parts.add(index, text, 0);
        let is_parted = last.is_some_and(|last| last != part);
        *last = Some(part);
        self.begin_reasoning(at, sink)?;
        if is_parted {
            self.answer.reasoning("\n\n", sink)?;
        }
        self.answer.reasoning(text, sink)
    }

    /// Handles a delta of a call's arguments, or all of them.
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
            said,
            ..
        }) = self.state(at)
        else {
            return Ok(());
        };
        if text.is_empty() {
            return Ok(());
        }
        let (slot, is_custom) = (*slot, *is_custom);
        let mut more = text;
        if is_whole {
            match said.against(text) {
                Whole::Same => return Ok(()),
                Whole::Longer(rest) => more = rest,
                Whole::Other => {
                    *said = Default::default();
                    said.add(text);
                    sink.warning(REPLACED_ARGUMENTS);
                    return match is_custom {
                        false => self.answer.replace_arguments(slot, text, sink),
                        true => {
                            let text = format!("{INPUT}{}", quoted(text));
                            self.answer.replace_arguments(slot, &text, sink)
                        }
                    };
                }
            }
        }
        said.add(more);
        match is_custom {
            false => self.answer.arguments(slot, more, sink),
            true => self.answer.arguments(slot, &quoted(more), sink),
        }
    }

    pub(super) fn annotation(
        &mut self,
        place: &ItemRef<'_>,
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

/// Returns a text as in a JSON string, without the quotes, which come before the first and after the last delta.
fn quoted(text: &str) -> String {
    let mut quoted = Value::from(text).to_string();
    quoted.pop();
    quoted.remove(0);
    quoted
}
