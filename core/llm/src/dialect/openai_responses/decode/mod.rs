mod pieces;
mod whole;

use super::super::answer::{AnswerWriter, NO_STOP_REASON, is_zero, no_answer};
use super::super::error::StreamError;
use super::super::template::{Fit, FrameReader, Templates};
use super::super::{DecodeError, EventPosition, HopIds, Sink};
use super::event::{DeltaKind, Failure, Outcome, StreamEvent, Thought};
use super::item::{ItemContent, WireItem};
use super::items::{Items, State};
use super::stored;
use crate::event::{Metadata, TokenUsage, Violation};
use crate::provider::Dialect;
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;

const DIALECT: Dialect = Dialect::OpenAiResponses;

/// The beginning of the arguments of a custom tool's call.
const INPUT: &str = "{\"input\":\"";

/// The result for a call of a tool that the app does not have, where the provider has tools of its own.
const RUN_BY_PROVIDER: &str = "The provider ran this tool itself.";

/// Decodes Responses streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    answer: AnswerWriter,
    items: Items,
    /// The item whose message receives text.
    message: Option<usize>,
    /// The item whose reasoning is open.
    reasoning: Option<usize>,
    /// Whether the stream reported its end within a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
    /// The size of the current message's text, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    message_bytes: usize,
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            answer: AnswerWriter::new(ids),
            items: Items::default(),
            message: None,
            reasoning: None,
            is_cut: false,
            message_bytes: 0,
        }
    }

    /// Reads a frame with an event.
    fn event(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<(DeltaKind, u64)>,
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
                    && !matches!(piece.kind, DeltaKind::Refusal(_) | DeltaKind::Input)
                {
                    templates.learn(frame, piece.gaps, || (piece.kind, output_index));
                }
                if let Some(at) = self.items.of_piece(&piece.place, piece.kind)? {
                    match self.items.get(at).is_some_and(|item| item.is_done) {
                        true => self.late(at, &piece, sink)?,
                        false => self.part(at, &piece, sink)?,
                    }
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
            StreamEvent::Failed(failure) => self.failed(failure, sink)?,
        }
        Ok(())
    }

    fn name_model(&mut self, model: Option<Cow<'_, str>>) {
        if let (None, Some(model)) = (&self.answer.model, model) {
            self.answer.model = Some(model.into_owned());
        }
    }

    /// Begins an item.
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
                // The name may come later.
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

    /// Begins a call, if it has a name and has not begun.
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
            self.answer.arguments(begun, INPUT, sink)?;
        }
        if let Some(State::Call { slot, .. }) = self.state(at) {
            *slot = Some(begun);
        }
        Ok(())
    }

    fn state(&mut self, at: usize) -> Option<&mut State> {
        self.items.get_mut(at).map(|item| &mut item.state)
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
        let mut own = Vec::new();
        for (at, item) in places.into_iter().zip(outcome.output) {
            if let Some(tools) = &outcome.tools
                && tools.are_without(&item)
            {
                own.push(at);
            }
            match self.items.get(at).is_some_and(|item| item.is_done) {
                true => self.compare(at, &item, sink)?,
                false => self.complete(at, item, sink)?,
            }
        }
        for at in own {
            if let Some(State::Call {
                slot: Some(slot), ..
            }) = self.state(at)
            {
                let slot = *slot;
                self.answer.answer_call(slot, RUN_BY_PROVIDER, sink)?;
            }
        }
        if let Some(failure) = outcome.failure {
            return self.failed(failure, sink);
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
        if self.items.len() == 0 {
            return self.fail(no_answer(), sink);
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

    fn failed(&mut self, failure: Failure, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.answer.stop_reason = failure.stop_reason;
        self.answer.usage = failure.usage.or(self.answer.usage.take());
        Ok(self.answer.fail(failure.error, sink)?)
    }
}

fn with_phase(phase: String) -> Metadata {
    Metadata::from_iter([("phase".to_owned(), phase.into())])
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
        self.failed(error.into(), sink)
    }

    fn error(&mut self, data: &[u8], sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        Some(self.failed(Failure::read(data), sink))
    }

    /// Only of a part that has begun.
    fn piece(
        &mut self,
        fit: Fit<'_, (DeltaKind, u64)>,
        sink: &mut dyn Sink,
    ) -> Result<bool, DecodeError> {
        let (kind, output_index) = *fit.kind;
        let Some((at, item)) = self.items.at_index(output_index) else {
            return Ok(false);
        };
        if item.is_done {
            return Ok(false);
        }
        match (&mut item.state, kind) {
            (State::Message { texts, .. }, DeltaKind::Text(part))
                if self.message == Some(at) && texts.is_last(part) =>
            {
                texts.go_on(fit.text);
                self.message_bytes += fit.text.len();
                self.answer.text(fit.text, sink)?;
            }
            (
                State::Reasoning {
                    last,
                    summary,
                    content,
                    ..
                },
                DeltaKind::Thought(part),
            ) if self.reasoning == Some(at) && *last == Some(part) => {
                match part {
                    Thought::Summary(part) if summary.is_last(part) => summary.go_on(fit.text),
                    Thought::Content(part) if content.is_last(part) => content.go_on(fit.text),
                    Thought::Summary(_) | Thought::Content(_) => return Ok(false),
                }
                self.answer.reasoning(fit.text, sink)?;
            }
            (
                State::Call {
                    slot: Some(slot),
                    is_custom: false,
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
            // Gateways end with it.
            b"[DONE]" => self.done(sink),
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
        stored::number(frame.data).map(EventPosition::Number)
    }

    fn stored(&mut self, data: &[u8], sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        let json = |reason: String| DecodeError::Json {
            dialect: DIALECT.name(),
            reason,
        };
        let answer = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        let last = stored::last_event(answer).map_err(|error| json(error.to_string()))?;
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
        self.is_cut && self.answer.is_running()
    }
}
