use super::super::answer::{Answer, NO_STOP_REASON};
use super::super::template::{Fit, FrameReader, Templates};
use super::super::{DecodeError, Dialect, HopIds, Sink};
use super::event::{Failure, Kind, Outcome, Piece, Place, StreamEvent, Thought};
use super::item::{ItemContent, MessagePart, WireItem};
use super::items::{Items, State};
use crate::event::{ContentPart, Metadata, TokenUsage, Violation};
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

const DIALECT: Dialect = Dialect::OpenAiResponses;

/// Decodes Responses streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: Answer,
    items: Items,
    /// The message that text goes on in.
    message: Option<usize>,
    /// The item that reasoning goes on in.
    reasoning: Option<usize>,
    /// Whether the stream said that it is over within a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

impl Decoder {
    pub(in super::super) fn new(ids: HopIds) -> Self {
        Self {
            answer: Answer::new(ids),
            items: Items::default(),
            message: None,
            reasoning: None,
            is_cut: false,
        }
    }

    /// A frame with an event.
    fn event(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<(Kind, u64)>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let json = |reason: String| DecodeError::Json {
            dialect: DIALECT.name(),
            reason,
        };
        let data = frame.data.trim_ascii();
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        let name = std::str::from_utf8(frame.event).unwrap_or_default();
        let event = StreamEvent::read(text, name).map_err(|error| json(error.to_string()))?;
        match event {
            StreamEvent::Nothing => {}
            StreamEvent::Began { id, model } => {
                self.answer.name(id);
                self.name_model(model);
                self.answer.start(sink)?;
            }
            StreamEvent::Piece(piece) => {
                if let Some(output_index) = piece.place.output_index
                    && !piece.is_whole
                    && !matches!(piece.kind, Kind::Refusal(_) | Kind::Input)
                {
                    templates.learn(frame, piece.gaps, || (piece.kind, output_index));
                }
                if let Some(at) = self.items.of_piece(&piece.place, piece.kind)? {
                    self.part(at, &piece, sink)?;
                }
            }
            StreamEvent::Annotation(place, annotation) => {
                self.annotation(&place, annotation, sink)?;
            }
            StreamEvent::Added(place, item) => {
                if let Some(at) = self.items.begin(&place, &item)? {
                    self.begin(at, &item, sink)?;
                }
            }
            StreamEvent::Done(place, item) => {
                if let Some(at) = self.items.of_whole(&place, &item)? {
                    self.complete(at, item, sink)?;
                }
            }
            StreamEvent::Over(outcome) => self.over(*outcome, sink)?,
            StreamEvent::Failed(failure) => self.fail(failure, sink)?,
        }
        Ok(())
    }

    fn name_model(&mut self, model: Option<Cow<'_, str>>) {
        if let (None, Some(model)) = (&self.answer.model, model) {
            self.answer.model = Some(model.into_owned());
        }
    }

    /// An item begins.
    fn begin(
        &mut self,
        at: usize,
        item: &WireItem<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match &item.content {
            ItemContent::Message { .. } => {}
            // At once, though no text may come: the user sees that the model thinks.
            ItemContent::Reasoning { .. } => self.begin_reasoning(at, sink)?,
            ItemContent::Call {
                is_custom,
                call_id,
                name,
                ..
            } => match (call_id, self.state(at)) {
                // It may come later.
                (None, Some(State::Call { name: waiting, .. })) => {
                    *waiting = name.as_deref().map(str::to_owned);
                }
                _ => self.begin_call(at, *is_custom, call_id.as_deref(), name.as_deref(), sink)?,
            },
            ItemContent::Other { item, .. } => {
                self.answer.custom("provider_item", item.clone(), sink)?;
            }
        }
        Ok(())
    }

    fn begin_reasoning(&mut self, at: usize, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.reasoning == Some(at) {
            return Ok(());
        }
        self.answer.begin_reasoning(None, sink)?;
        self.reasoning = Some(at);
        let begun = self.answer.last_reasoning();
        if let Some(State::Reasoning { stretch, .. }) = self.state(at) {
            *stretch = stretch.or(begun);
        }
        Ok(())
    }

    /// A call begins, if it has not and has a name.
    fn begin_call(
        &mut self,
        at: usize,
        is_custom: bool,
        call_id: Option<&str>,
        name: Option<&str>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let (Some(State::Call { slot: None, .. }), Some(name)) = (self.state(at), name) else {
            return Ok(());
        };
        let begun = self.answer.begin_call(call_id, name, sink)?;
        if is_custom {
            let kind = json!({"type": "custom_tool_call"});
            self.answer.seal_call(begun, DIALECT, &kind, sink)?;
            self.answer.arguments(begun, "{\"input\":\"", sink)?;
        }
        if let Some(State::Call { slot, .. }) = self.state(at) {
            *slot = Some(begun);
        }
        Ok(())
    }

    fn state(&mut self, at: usize) -> Option<&mut State> {
        self.items.get_mut(at).map(|item| &mut item.state)
    }

    fn part(
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
    fn begin_waiting(&mut self, at: usize, sink: &mut dyn Sink) -> Result<(), DecodeError> {
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
    fn text(
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

    fn refusal(
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

    fn thought(
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
    fn arguments(
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

    fn annotation(
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

    /// An item is whole: what no piece said is said now.
    fn complete(
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
                self.begin_reasoning(at, sink)?;
                for (part, text) in (0..).zip(&summary) {
                    self.thought(at, Thought::Summary(part), text, true, sink)?;
                }
                for (part, text) in (0..).zip(&content) {
                    self.thought(at, Thought::Content(part), text, true, sink)?;
                }
                if let Some(State::Reasoning {
                    stretch: Some(stretch),
                    ..
                }) = self.state(at)
                {
                    let stretch = *stretch;
                    self.answer
                        .seal_reasoning_at(stretch, DIALECT, item.raw, sink)?;
                }
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

    fn end_call(&mut self, at: usize, sink: &mut dyn Sink) -> Result<(), Violation> {
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

    fn over(&mut self, outcome: Outcome<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        let places = self.items.of_output(&outcome.output)?;
        let is_new = |at: &usize, item: &WireItem<'_>| {
            let known = self.items.get(*at).map(|item| &item.state);
            matches!(item.content, ItemContent::Call { .. })
                && matches!(known, Some(State::Call { slot: None, .. }))
        };
        let calls = places.iter().zip(&outcome.output);
        let new = calls.filter(|(at, item)| is_new(at, item)).count();
        self.answer.room_for_calls(new)?;
        self.name_model(outcome.model);
        for (at, item) in places.into_iter().zip(outcome.output) {
            if self.items.get(at).is_some_and(|item| !item.is_done) {
                self.complete(at, item, sink)?;
            }
        }
        if let Some(failure) = outcome.failure {
            return self.fail(failure, sink);
        }
        self.answer.stop_reason = outcome.stop_reason.map(Cow::into_owned);
        self.answer.usage = outcome.usage;
        self.finish(sink)
    }

    /// The stream says that it is over, but not that the answer is: it is, unless a call was cut off.
    fn done(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        let is_whole = |at| match self.items.get(at) {
            Some(item) if !item.is_done => match &item.state {
                State::Call { slot, .. } => {
                    slot.is_some_and(|slot| self.answer.is_whole(slot, &*sink))
                }
                _ => true,
            },
            _ => true,
        };
        if !(0..self.items.len()).all(is_whole) {
            sink.warning("the stream ends within a tool call");
            self.is_cut = true;
            return Ok(());
        }
        sink.warning(NO_STOP_REASON);
        self.finish(sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        for at in 0..self.items.len() {
            if self.items.get(at).is_some_and(|item| !item.is_done) {
                self.begin_waiting(at, sink)?;
                self.end_call(at, sink)?;
            }
        }
        Ok(self.answer.finish(sink)?)
    }

    fn fail(&mut self, failure: Failure, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.answer.stop_reason = failure.stop_reason;
        self.answer.usage = failure.usage.or(self.answer.usage.take());
        Ok(self.answer.fail(failure.message, failure.code, sink)?)
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
        Value::String(data) if !data.is_empty() => Some(ContentPart::of_data(&data, &media_type)),
        _ => None,
    }
}

fn with_phase(phase: String) -> Metadata {
    Metadata::from_iter([("phase".to_owned(), phase.into())])
}

impl FrameReader for Decoder {
    type Kind = (Kind, u64);

    fn takes_pieces(&self) -> bool {
        self.answer.is_running()
    }

    fn is_over(&self) -> bool {
        self.answer.is_over()
    }

    fn error(&mut self, data: &[u8], sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        Some(self.fail(Failure::read(data), sink))
    }

    /// Only of a part that has begun.
    fn piece(
        &mut self,
        fit: Fit<'_, (Kind, u64)>,
        sink: &mut dyn Sink,
    ) -> Result<bool, DecodeError> {
        let (kind, output_index) = *fit.kind;
        let Some((at, item)) = self.items.at_index(output_index) else {
            return Ok(false);
        };
        if item.is_done {
            return Ok(false);
        }
        match (&item.state, kind) {
            (State::Message { texts, .. }, Kind::Text(part))
                if self.message == Some(at) && texts.has(part) =>
            {
                self.answer.text(fit.text, sink)?;
            }
            (State::Reasoning { last, .. }, Kind::Thought(part))
                if self.reasoning == Some(at) && *last == Some(part) =>
            {
                self.answer.reasoning(fit.text, sink)?;
            }
            (
                State::Call {
                    slot: Some(slot),
                    is_custom: false,
                    is_heard: true,
                    ..
                },
                Kind::Arguments,
            ) => self.answer.arguments(*slot, fit.text, sink)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<(Kind, u64)>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match frame.data.trim_ascii() {
            // Gateways end with it.
            b"[DONE]" => self.done(sink),
            _ => self.event(frame, templates, sink),
        }
    }

    fn usage(&mut self) -> Option<&TokenUsage> {
        self.answer.usage()
    }

    fn response_id(&self) -> Option<&str> {
        self.answer.response_id.as_deref()
    }

    fn is_done(&self) -> bool {
        self.is_cut && self.answer.is_running()
    }
}
