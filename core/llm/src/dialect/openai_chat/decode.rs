use super::super::answer::{NO_STOP_REASON, is_zero, no_answer, no_call, whole};
use super::super::error::StreamError;
use super::super::inline_thinking::{InlineThinking, Part};
use super::super::template::{Fit, FrameReader, Templates};
use super::super::text_digest::{TextDigest, Whole};
use super::super::{AnswerLimit, DecodeError, HopIds, Sink, made_media};
use super::audio::Audio;
use super::calls::Calls;
use super::chunk::{Chunk, DeltaKind, Piece};
use super::reasoning::{Field, Reasoning};
use crate::MessageId;
use crate::event::{
    Common, ContentPart, Custom, EventRef, MediaKind, Metadata, RunFinished, RunStarted,
    TextMessageEnd, TextMessageRole, TextMessageStart, TokenUsage, Violation,
};
use crate::provider::ThinkTags;
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum size of a refusal, in bytes.
const LONGEST_REFUSAL: usize = 64 * 1024;

/// Decodes Chat Completions streams.
///
/// It holds no text except the reasoning that a provider needs back, and a refusal: all other text is in the events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    ids: HopIds,
    /// The hop's message, of which there is only one.
    message_id: MessageId,
    phase: Phase,
    text_open: bool,
    reasoning: Reasoning,
    calls: Calls,
    model: Option<String>,
    /// The provider's id of the answer, for traces only. It is not stored.
    #[serde(skip)]
    response_id: Option<String>,
    stop_reason: Option<String>,
    usage: Option<TokenUsage>,
    /// Whether the stream reported its end within a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
    /// The model's refusal so far.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    refusal: String,
    /// The number of images and sounds in the answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    media: usize,
    #[serde(default, skip_serializing_if = "Audio::is_empty")]
    audio: Audio,
    /// The content of the message so far, for a server that sends it instead of deltas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<TextDigest>,
    #[serde(default, skip_serializing_if = "InlineThinking::is_never")]
    thinking: InlineThinking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    /// No chunk has arrived.
    Fresh,
    /// The run is in progress.
    Running,
    /// The run has finished or failed.
    Over,
}

impl Decoder {
    pub(crate) fn new(ids: HopIds) -> Self {
        Self {
            message_id: ids.message(0),
            ids,
            phase: Phase::Fresh,
            text_open: false,
            reasoning: Reasoning::default(),
            calls: Calls::default(),
            model: None,
            response_id: None,
            stop_reason: None,
            usage: None,
            is_cut: false,
            refusal: String::new(),
            media: 0,
            audio: Audio::default(),
            message: None,
            thinking: InlineThinking::default(),
        }
    }

    pub(in super::super) fn split_thinking(&mut self, tags: ThinkTags) {
        self.thinking = InlineThinking::new(tags);
    }

    pub(in super::super) fn think_tags(&self) -> ThinkTags {
        self.thinking.tags()
    }

    /// Reads a frame with a chunk.
    fn chunk(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let json = |reason: String| DecodeError::Json {
            dialect: "openai-chat",
            reason,
        };
        let data = frame.data.trim_ascii();
        let text = std::str::from_utf8(data).map_err(|error| json(error.to_string()))?;
        let Some(mut chunk) = Chunk::read(text).map_err(|error| json(error.to_string()))? else {
            return Ok(());
        };
        if let Some((kind, gaps)) = chunk.piece() {
            templates.learn(frame, gaps, || kind);
        }
        let more = if chunk.is_whole {
            self.new_of_message(&mut chunk)
        } else {
            None
        };
        self.check_limits(&chunk)?;
        let slots = self.calls.place(&chunk.fragments)?;
        // An error that is the first thing to come needs no run.
        let begins = chunk.error.is_none() || !chunk.says_nothing();
        self.note_response(&mut chunk);
        if begins {
            self.start(sink)?;
        }
        self.emit(chunk, more, &slots, sink)
    }

    /// Checks that everything the chunk adds to what is held is within its limits.
    fn check_limits(&mut self, chunk: &Chunk<'_>) -> Result<(), DecodeError> {
        let refusals = chunk.pieces.iter().map(|piece| match piece {
            Piece::Refusal(text) => text.len(),
            _ => 0,
        });
        if self.refusal.len() + refusals.sum::<usize>() > LONGEST_REFUSAL {
            return Err(AnswerLimit::held(LONGEST_REFUSAL).into());
        }
        self.audio.check(&chunk.pieces)?;
        self.reasoning.reserve(&chunk.reasoning_details)
    }

    /// Records the model, the id and the usage that the chunk states.
    fn note_response(&mut self, chunk: &mut Chunk<'_>) {
        if let (None, Some(model)) = (&self.model, chunk.model.take()) {
            self.model = Some(model.into_owned());
        }
        if let (None, Some(id)) = (&self.response_id, chunk.id.take()) {
            self.response_id = Some(id.into_owned());
        }
        if let Some(usage) = chunk.usage.take() {
            self.usage = Some(usage);
        }
    }

    /// Emits the events of a chunk, whose call fragments belong to `slots`. `more` is the text by which a complete
    /// message has grown.
    fn emit(
        &mut self,
        chunk: Chunk<'_>,
        more: Option<String>,
        slots: &[usize],
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        for piece in &chunk.pieces {
            self.piece(piece, sink)?;
        }
        if let Some(more) = more {
            self.content(&more, sink)?;
        }
        for citation in chunk.citations {
            custom("citation", citation, sink)?;
        }
        // Behind the reasoning's text, which may begin the message that they belong to.
        self.reasoning.keep(chunk.reasoning_details);
        for (fragment, &slot) in chunk.fragments.iter().zip(slots) {
            if self.calls.begins(slot, fragment) {
                self.end_thinking(sink)?;
                self.reasoning.close(&self.ids, sink)?;
                self.end_text(None, sink)?;
            }
            self.calls
                .add_fragment(slot, fragment, (&self.ids, &self.message_id), sink)?;
        }
        if let Some(reason) = chunk.finish_reason {
            self.stop_reason = Some(reason.into_owned());
        }
        match chunk.error {
            Some(error) => self.fail(error, sink),
            None => Ok(()),
        }
    }

    /// Reduces a chunk with a complete message to its new content. Returns the text by which the message has grown, if
    /// it repeats the earlier ones.
    fn new_of_message(&mut self, chunk: &mut Chunk<'_>) -> Option<String> {
        let text: String = chunk
            .pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Content(text) => Some(&**text),
                _ => None,
            })
            .collect();
        let has_said = self.text_open
            || self.thinking.holds_any()
            || self.media > 0
            || !self.calls.is_empty()
            || !self.refusal.is_empty()
            || self.reasoning.has_begun();
        let known = match &mut self.message {
            Some(known) => known,
            None if has_said => {
                // Deltas have brought this content.
                chunk.leave_out_message();
                return None;
            }
            None => {
                self.message.insert(TextDigest::default()).add(&text);
                return None;
            }
        };
        let more = match known.against(&text) {
            Whole::Same => None,
            Whole::Longer(more) => Some(more.to_owned()),
            // Pieces under another name.
            Whole::Other if text.is_empty() => None,
            Whole::Other => Some(text),
        };
        known.add(more.as_deref().unwrap_or_default());
        let keeps_calls = self.calls.is_empty();
        chunk.leave_out_said(keeps_calls);
        more
    }

    fn piece(&mut self, piece: &Piece<'_>, sink: &mut dyn Sink) -> Result<(), Violation> {
        match piece {
            Piece::Content(text) => self.content(text, sink),
            Piece::Reasoning(field, text) => self.reasoning_field(*field, text, sink),
            Piece::Refusal(text) => {
                self.refusal.push_str(text);
                custom("refusal", Value::from(&**text), sink)
            }
            Piece::Image(url) => {
                // A value that is not an address shows nothing.
                let Ok(part) = ContentPart::of_url(MediaKind::Image, url, None) else {
                    return Ok(());
                };
                self.show(&part, sink)
            }
            Piece::Audio(data) => {
                if !self.audio.add(data) {
                    sink.warning("a piece of the model's sound is no base64, and is left out");
                }
                Ok(())
            }
        }
    }

    fn show(&mut self, part: &ContentPart, sink: &mut dyn Sink) -> Result<(), Violation> {
        let id = self.ids.media(self.media);
        self.media += 1;
        made_media::show(id, part, sink)
    }

    /// Emits a delta of reasoning that has a field of its own, so that tags in the text are text.
    #[inline]
    fn reasoning_field(
        &mut self,
        field: Field,
        delta: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if self.thinking.is_splitting() && !delta.is_empty() {
            self.end_thinking(sink)?;
        }
        self.reasoning.delta(&self.ids, field, delta, sink)
    }

    /// Emits a delta of the answer's content, which is not empty.
    #[inline]
    fn content(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.thinking.is_splitting() {
            return self.split(sink, |thinking, emit| thinking.split(delta, emit));
        }
        self.text(delta, sink)
    }

    /// Ends the thinking that is part of the text: what is held is emitted, and the rest of the answer is text.
    fn end_thinking(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        match self.thinking.is_splitting() {
            true => self.split(sink, |thinking, emit| thinking.end(emit)),
            false => Ok(()),
        }
    }

    /// Emits the parts that `work` separates.
    fn split(
        &mut self,
        sink: &mut dyn Sink,
        work: impl FnOnce(
            &mut InlineThinking,
            &mut dyn FnMut(Part<'_>) -> Result<(), Violation>,
        ) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let mut thinking = std::mem::take(&mut self.thinking);
        let split = work(&mut thinking, &mut |part| match part {
            Part::Text(text) => self.text(text, sink),
            Part::Thinking(text) => self.reasoning.delta(&self.ids, Field::Content, text, sink),
        });
        self.thinking = thinking;
        split
    }

    /// Emits a delta of text, which is not empty.
    #[inline]
    fn text(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.reasoning.is_pending() {
            self.reasoning.close(&self.ids, sink)?;
        }
        if !self.text_open {
            self.begin_text(sink)?;
        }
        sink.event(EventRef::TextMessageContent {
            message_id: &self.message_id,
            delta,
        })
    }

    fn begin_text(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        self.text_open = true;
        whole(
            sink,
            TextMessageStart {
                message_id: self.message_id.clone(),
                role: Some(TextMessageRole::Assistant),
                ..TextMessageStart::default()
            },
        )
    }

    fn end_text(
        &mut self,
        common: Option<Box<Common>>,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if !std::mem::take(&mut self.text_open) {
            return Ok(());
        }
        whole(
            sink,
            TextMessageEnd {
                message_id: self.message_id.clone(),
                common,
            },
        )
    }

    /// Ends the text. A refusal is added to its message in full, since it is sent back in that form.
    fn end_answer(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.refusal.is_empty() {
            return self.end_text(None, sink);
        }
        if !self.text_open {
            self.begin_text(sink)?;
        }
        let refusal = std::mem::take(&mut self.refusal);
        self.end_text(Some(metadata("refusal", refusal)), sink)
    }

    fn start(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.phase != Phase::Fresh {
            return Ok(());
        }
        self.phase = Phase::Running;
        whole(
            sink,
            RunStarted {
                thread_id: self.ids.thread_id.clone(),
                run_id: self.ids.run_id.clone(),
                ..RunStarted::default()
            },
        )
    }

    /// The stream says that it is over: so is the answer, unless a call was cut off.
    fn done(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.end_thinking(sink)?;
        if self.stop_reason.is_none() {
            if !self.calls.are_whole(sink) {
                sink.warning("the stream ends within a tool call");
                self.is_cut = true;
                return Ok(());
            }
            let says_nothing = !self.text_open
                && self.media == 0
                && self.calls.are_none()
                && self.refusal.is_empty()
                && self.audio.is_empty()
                && !self.reasoning.has_begun();
            if says_nothing {
                return self.fail(no_answer(), sink);
            }
            sink.warning(NO_STOP_REASON);
        }
        self.finish(sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.start(sink)?;
        self.end_thinking(sink)?;
        self.reasoning.close(&self.ids, sink)?;
        self.end_answer(sink)?;
        if !self.audio.is_empty() {
            let sound = self.audio.take();
            self.show(&sound, sink)?;
        }
        self.calls.end((&self.ids, &self.message_id), sink)?;
        let asks = matches!(
            self.stop_reason.as_deref(),
            Some("tool_calls" | "function_call")
        );
        if asks && self.calls.are_none() {
            return self.fail(no_call(), sink);
        }
        self.phase = Phase::Over;
        let finished = RunFinished {
            thread_id: self.ids.thread_id.clone(),
            run_id: self.ids.run_id.clone(),
            usage: self.token_usage(),
            common: self.stop_metadata(),
            ..RunFinished::default()
        };
        Ok(whole(sink, finished)?)
    }

    fn token_usage(&self) -> Option<Vec<TokenUsage>> {
        self.usage.clone().map(|usage| {
            vec![TokenUsage {
                model: self.model.clone(),
                ..usage
            }]
        })
    }

    fn stop_metadata(&self) -> Option<Box<Common>> {
        let reason = self.stop_reason.as_deref()?;
        Some(metadata("stopReason", reason.to_owned()))
    }
}

fn metadata(key: &str, value: String) -> Box<Common> {
    let mut metadata = Metadata::new();
    metadata.insert(key.to_owned(), value.into());
    Box::new(Common {
        metadata: Some(metadata),
        ..Common::default()
    })
}

/// Emits a `CUSTOM` event, which changes nothing in the conversation.
fn custom(name: &str, value: Value, sink: &mut dyn Sink) -> Result<(), Violation> {
    whole(
        sink,
        Custom {
            name: name.to_owned(),
            value,
            common: None,
        },
    )
}

impl FrameReader for Decoder {
    type DeltaKind = DeltaKind;

    fn takes_pieces(&self) -> bool {
        self.phase == Phase::Running
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn fail(&mut self, error: StreamError, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.end_thinking(sink)?;
        self.phase = Phase::Over;
        let usage = self.token_usage();
        let failed = error.into_event(usage, self.stop_reason.as_deref());
        Ok(whole(sink, failed)?)
    }

    fn error(&mut self, data: &[u8], sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        Some(self.fail(StreamError::read(data), sink))
    }

    fn piece(&mut self, fit: Fit<'_, DeltaKind>, sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        match *fit.kind {
            DeltaKind::Content => self.content(fit.text, sink)?,
            DeltaKind::Reasoning(field) => self.reasoning_field(field, fit.text, sink)?,
            DeltaKind::Arguments(index) => match self.calls.begun(index) {
                Some(slot) => self.calls.arguments(slot, fit.text, sink)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<DeltaKind>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match frame.data.trim_ascii() {
            b"[DONE]" => self.done(sink),
            _ => self.chunk(frame, templates, sink),
        }
    }

    fn is_done(&self) -> bool {
        self.phase == Phase::Running && (self.stop_reason.is_some() || self.is_cut)
    }

    fn usage(&self) -> Option<&TokenUsage> {
        self.usage.as_ref()
    }

    fn name_usage(&mut self) {
        if let Some(usage) = &mut self.usage
            && usage.model.is_none()
        {
            usage.model.clone_from(&self.model);
        }
    }

    fn response_id(&self) -> Option<&str> {
        self.response_id.as_deref()
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if self.phase == Phase::Running && self.stop_reason.is_some() {
            return self.finish(sink);
        }
        if self.phase == Phase::Running {
            self.end_thinking(sink)?;
        }
        Ok(())
    }
}
