//! Complete items: the content that no delta has brought is emitted then.

use super::super::super::template::Gap;
use super::super::event::{DeltaKind, ItemRef, Piece, Thought};
use super::super::item::{ItemContent, MessagePart, WireItem};
use super::super::items::State;
use super::{DIALECT, Decoder, with_phase};
use crate::dialect::{DecodeError, Sink};
use crate::event::{ContentPart, Violation};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

impl Decoder {
    /// Completes an item: emits the content that no delta has brought.
    pub(super) fn complete(
        &mut self,
        at: usize,
        item: WireItem<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match item.content {
            ItemContent::Message { phase, parts } => {
                self.complete_message(at, phase.as_deref(), parts, sink)?;
            }
            ItemContent::Reasoning { summary, content } => {
                self.complete_reasoning(at, &summary, &content, item.raw, sink)?;
            }
            ItemContent::Call {
                is_custom,
                call_id,
                name,
                text,
            } => {
                let waiting = match self.state(at) {
                    Some(State::Call { name, .. }) => name.take(),
                    _ => None,
                };
                let (call_id, name) = (call_id.as_deref(), name.as_deref().or(waiting.as_deref()));
                self.begin_call(at, is_custom, call_id, name, sink)?;
                self.arguments(at, text.as_deref().unwrap_or_default(), true, sink)?;
                self.end_call(at, sink)?;
            }
            ItemContent::Other {
                item: mut value,
                goes_back,
            } => {
                if let Some(made) = made(&mut value) {
                    self.answer.media(&made, sink)?;
                }
                self.answer.custom("provider_item", value, sink)?;
                if goes_back {
                    self.answer.part(sink)?;
                    self.answer.seal_message(DIALECT, item.raw, sink)?;
                    self.answer.part(sink)?;
                    self.message = None;
                }
            }
        }
        if let Some(item) = self.items.get_mut(at) {
            item.is_done = true;
        }
        Ok(())
    }

    /// Emits the reasoning that no delta brought, and seals the item.
    fn complete_reasoning(
        &mut self,
        at: usize,
        summary: &[Cow<'_, str>],
        content: &[Cow<'_, str>],
        raw: &RawValue,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        self.begin_reasoning(at, sink)?;
        for (part, text) in (0..).zip(summary) {
            self.thought(at, Thought::Summary(part), text, true, sink)?;
        }
        for (part, text) in (0..).zip(content) {
            self.thought(at, Thought::Content(part), text, true, sink)?;
        }
        if let Some(State::Reasoning {
            stretch: Some(stretch),
            ..
        }) = self.state(at)
        {
            let stretch = *stretch;
            self.answer.seal_reasoning_at(stretch, DIALECT, raw, sink)?;
        }
        Ok(())
    }

    /// Compares an item of the last event with its earlier content, and emits the part that was missing at its end.
    pub(super) fn compare(
        &mut self,
        at: usize,
        item: &WireItem<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let ItemContent::Message { parts, .. } = &item.content else {
            return Ok(());
        };
        for (index, part) in (0..).zip(parts) {
            if let Some(text) = &part.text {
                let piece = Piece {
                    place: ItemRef::default(),
                    kind: DeltaKind::Text(index),
                    text: Cow::Borrowed(text),
                    is_whole: true,
                    gaps: [(Gap::Text, None), (Gap::Passed, None), (Gap::Passed, None)],
                };
                self.late(at, &piece, sink)?;
            }
        }
        Ok(())
    }

    fn complete_message(
        &mut self,
        at: usize,
        phase: Option<&str>,
        parts: Vec<MessagePart<'_>>,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if let Some(State::Message { phase: known, .. }) = self.state(at)
            && known.is_none()
        {
            *known = phase.map(str::to_owned);
        }
        let mut refusal = String::new();
        let mut annotations = Vec::new();
        for (index, part) in (0..).zip(parts) {
            if let Some(text) = part.text {
                self.text(at, index, &text, true, sink)?;
            }
            if let Some(text) = part.refusal {
                self.refusal(at, index, &text, true, sink)?;
                refusal.push_str(&text);
            }
            annotations.extend(part.annotations);
        }
        let Some(State::Message { citations, .. }) = self.state(at) else {
            return Ok(());
        };
        let said = std::mem::replace(citations, annotations.len());
        for annotation in annotations.into_iter().skip(said) {
            self.answer.custom("citation", annotation, sink)?;
        }
        if !refusal.is_empty() {
            let phase = phase.map(str::to_owned);
            let mut metadata = phase.map(with_phase).unwrap_or_default();
            metadata.insert("refusal".to_owned(), refusal.into());
            if self.message != Some(at) {
                self.answer.part(sink)?;
                self.message = Some(at);
            }
            self.answer.annotate_message(metadata, sink)?;
        }
        Ok(())
    }

    pub(super) fn end_call(&mut self, at: usize, sink: &mut dyn Sink) -> Result<(), Violation> {
        let Some(State::Call {
            slot: Some(slot),
            is_custom,
            ..
        }) = self.state(at)
        else {
            return Ok(());
        };
        let (slot, is_custom) = (*slot, *is_custom);
        if is_custom {
            self.answer.arguments(slot, "\"}", sink)?;
        }
        self.answer.end_call(slot, sink)
    }
}

/// Takes the picture that the model made out of its item: the app is shown it once.
fn made(item: &mut Value) -> Option<ContentPart> {
    if item.get("type")? != "image_generation_call" {
        return None;
    }
    let format = item.get("output_format").and_then(Value::as_str);
    let media_type = format!("image/{}", format.unwrap_or("png"));
    match item.as_object_mut()?.remove("result")? {
        Value::String(data) if !data.is_empty() => {
            Some(ContentPart::from_base64(&data, &media_type))
        }
        _ => None,
    }
}
