//! Frames, read with serde into typed views.

use super::super::error::StreamError;
use super::super::lenient::{
    Raw, Spelled, arguments, index, list, object, spelled, starts_with, text,
};
use super::super::template::Gap;
use super::calls::Fragment;
use super::reasoning::Field;
use super::usage;
use crate::event::{Metadata, TokenUsage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Error, Value};
use std::borrow::Cow;

/// The content of a chunk that the decoder uses.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    /// Text, reasoning and refusal, in order.
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) reasoning_details: Vec<Metadata>,
    /// Citations, in the provider's form.
    pub(super) citations: Vec<Value>,
    pub(super) fragments: Vec<Fragment<'a>>,
    pub(super) finish_reason: Option<Cow<'a, str>>,
    pub(super) usage: Option<TokenUsage>,
    pub(super) error: Option<StreamError>,
    /// Whether the chunk has a `message` instead of a `delta`, which is the complete message so far.
    pub(super) is_whole: bool,
    /// Fields that change from chunk to chunk without a meaning.
    passed: [Raw<'a>; 5],
}

/// The kind of delta in a chunk that contains nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeltaKind {
    Content,
    Reasoning(Field),
    /// The arguments of the call with this index.
    Arguments(u64),
}

/// A delta of the answer.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    Content(Spelled<'a>),
    Reasoning(Field, Spelled<'a>),
    Refusal(Spelled<'a>),
    /// The address of a picture.
    Image(Cow<'a, str>),
    /// Samples of sound, in base64.
    Audio(Cow<'a, str>),
}

#[derive(Deserialize)]
struct WireChunk<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    choices: Raw<'a>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    object: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    x_groq: Raw<'a>,
    #[serde(borrow)]
    created: Raw<'a>,
    /// OpenAI's padding.
    #[serde(borrow)]
    obfuscation: Raw<'a>,
    /// Mistral's padding.
    #[serde(borrow)]
    p: Raw<'a>,
}

#[derive(Deserialize)]
struct WireGroq<'a> {
    #[serde(borrow)]
    usage: Raw<'a>,
}

#[derive(Deserialize)]
struct WireChoice<'a> {
    #[serde(borrow)]
    index: Raw<'a>,
    #[serde(borrow)]
    delta: Raw<'a>,
    #[serde(borrow)]
    finish_reason: Raw<'a>,
    /// Instead of the delta, or in addition to it: from servers that only seem to stream.
    #[serde(borrow)]
    message: Raw<'a>,
    /// Moonshot's.
    #[serde(borrow)]
    usage: Raw<'a>,
    /// OpenRouter's and LiteLLM's.
    #[serde(borrow)]
    error: Raw<'a>,
    /// A second copy of the text, from Together.
    #[serde(borrow)]
    text: Raw<'a>,
}

#[derive(Deserialize)]
struct WireDelta<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    refusal: Raw<'a>,
    #[serde(borrow)]
    reasoning_content: Raw<'a>,
    #[serde(borrow)]
    reasoning: Raw<'a>,
    #[serde(borrow)]
    reasoning_details: Raw<'a>,
    #[serde(borrow)]
    annotations: Raw<'a>,
    #[serde(borrow)]
    tool_calls: Raw<'a>,
    /// OpenRouter's: pictures that the model makes.
    #[serde(borrow)]
    images: Raw<'a>,
    /// Sound that the model makes.
    #[serde(borrow)]
    audio: Raw<'a>,
    /// Together's.
    #[serde(borrow)]
    token_id: Raw<'a>,
}

#[derive(Deserialize)]
struct WireAudio<'a> {
    /// The transcript.
    #[serde(borrow)]
    transcript: Raw<'a>,
    #[serde(borrow)]
    data: Raw<'a>,
}

#[derive(Deserialize)]
struct WireImage<'a> {
    #[serde(borrow)]
    image_url: Raw<'a>,
}

#[derive(Deserialize)]
struct WireUrl<'a> {
    #[serde(borrow)]
    url: Raw<'a>,
}

#[derive(Deserialize)]
struct WireFragment<'a> {
    #[serde(borrow)]
    index: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    function: Raw<'a>,
}

#[derive(Deserialize)]
struct WireFunction<'a> {
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
}

#[derive(Deserialize)]
struct WirePart<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
}

impl<'a> Chunk<'a> {
    /// Reads a frame, or returns `None` for JSON that is not a chunk.
    pub(super) fn read(data: &'a str) -> Result<Option<Self>, Error> {
        if !data.trim_start().starts_with('{') {
            return serde_json::from_str::<IgnoredAny>(data).map(|_| None);
        }
        let wire: WireChunk<'a> = serde_json::from_str(data)?;
        let mut chunk = Self {
            id: text(wire.id).unwrap_or_default(),
            model: text(wire.model).unwrap_or_default(),
            passed: [wire.created, wire.obfuscation, wire.p, None, None],
            ..Self::default()
        };
        let (mut choice_usage, mut choice_error) = (None, None);
        for (position, choice) in list(wire.choices)?.into_iter().enumerate() {
            if let Some(choice) = object::<WireChoice<'a>>(Some(choice))?
                && index(choice.index)?.map_or(position == 0, |index| index == 0)
            {
                chunk.passed[3] = choice.text;
                if let Some(delta) = object(choice.delta)? {
                    chunk.delta(&delta)?;
                } else if let Some(message) = object(choice.message)? {
                    chunk.is_whole = true;
                    chunk.delta(&message)?;
                }
                choice_usage = choice.usage;
                choice_error = choice
                    .error
                    .filter(|error| error.get().starts_with(['{', '"']) && error.get() != "\"\"");
                if let Some(reason) = text(choice.finish_reason)? {
                    chunk.finish_reason = Some(reason);
                }
            }
        }
        let groq = object::<WireGroq<'a>>(wire.x_groq)?;
        let groq_usage = groq.and_then(|groq| groq.usage);
        chunk.usage = [wire.usage, groq_usage, choice_usage]
            .into_iter()
            .flatten()
            .find_map(|raw| usage::read(&serde_json::from_str::<Value>(raw.get()).ok()?));
        // Mistral has no `error` field: the complete object is the error.
        let is_error = wire
            .error
            .is_some_and(|error| !matches!(error.get(), "\"\"" | "false"))
            || text(wire.object).is_ok_and(|object| object.as_deref() == Some("error"));
        chunk.error = is_error.then(|| StreamError::read(data.as_bytes()));
        if let (false, Some(error)) = (is_error, choice_error) {
            chunk.error = Some(StreamError::read(error.get().as_bytes()));
        }
        if chunk.error.is_none() && chunk.says_nothing() {
            chunk.error = StreamError::foreign(data);
        }
        let is_chunk =
            starts_with(wire.choices, '[') || chunk.usage.is_some() || chunk.error.is_some();
        Ok(is_chunk.then_some(chunk))
    }

    /// Returns whether the chunk has no output of the model.
    pub(super) fn says_nothing(&self) -> bool {
        self.pieces.is_empty() && self.citations.is_empty() && self.fragments.is_empty()
    }

    /// Returns the delta, if the chunk contains only one, with the values that may differ in the next chunk.
    pub(super) fn piece(&self) -> Option<(DeltaKind, [(Gap, Raw<'a>); 6])> {
        let is_more = !self.citations.is_empty()
            || !self.reasoning_details.is_empty()
            || self.finish_reason.is_some()
            || self.usage.is_some()
            || self.is_whole
            || self.error.is_some();
        let (kind, raw) = match (self.pieces.as_slice(), self.fragments.as_slice()) {
            _ if is_more => return None,
            ([Piece::Content(text)], []) => (DeltaKind::Content, text.raw),
            ([Piece::Reasoning(field, text)], []) => (DeltaKind::Reasoning(*field), text.raw),
            ([], [fragment]) => (DeltaKind::Arguments(fragment.goes_on()?), fragment.raw?),
            _ => return None,
        };
        let [a, b, c, d, e] = self.passed.map(|raw| (Gap::Passed, raw));
        Some((kind, [(Gap::Text, Some(raw)), a, b, c, d, e]))
    }

    /// Removes the content of a message that deltas have brought before.
    pub(super) fn leave_out_message(&mut self) {
        self.leave_out_said(false);
        self.reasoning_details.clear();
        self.citations.clear();
    }

    /// Removes the content of a message that an earlier one had: all of it but citations, and calls if there were none.
    pub(super) fn leave_out_said(&mut self, keeps_calls: bool) {
        self.pieces.clear();
        if !keeps_calls {
            self.fragments.clear();
        }
    }

    fn delta(&mut self, delta: &WireDelta<'a>) -> Result<(), Error> {
        self.passed[4] = delta.token_id;
        let reasoning = [
            (Field::ReasoningContent, delta.reasoning_content),
            (Field::Reasoning, delta.reasoning),
        ];
        for (field, raw) in reasoning {
            if let Some(piece) = spelled(raw)? {
                self.pieces.push(Piece::Reasoning(field, piece));
            }
        }
        if let Some(piece) = spelled(delta.content)? {
            self.pieces.push(Piece::Content(piece));
        }
        for part in list(delta.content)? {
            self.part(part)?;
        }
        if let Some(piece) = spelled(delta.refusal)? {
            self.pieces.push(Piece::Refusal(piece));
        }
        for item in list(delta.images)? {
            let image = object::<WireImage<'a>>(Some(item))?.and_then(|image| image.image_url);
            let url = object::<WireUrl<'a>>(image)?.and_then(|image| image.url);
            self.pieces.extend(text(url)?.map(Piece::Image));
        }
        if let Some(audio) = object::<WireAudio<'a>>(delta.audio)? {
            let said = spelled(audio.transcript)?.map(Piece::Content);
            let data = text(audio.data)?.map(Piece::Audio);
            self.pieces.extend(said.into_iter().chain(data));
        }
        for item in list(delta.reasoning_details)? {
            self.reasoning_details.extend(object(Some(item))?);
        }
        for item in list(delta.annotations)? {
            let citation = object::<Metadata>(Some(item))?;
            self.citations.extend(citation.map(Value::Object));
        }
        for fragment in list(delta.tool_calls)? {
            let Some(fragment) = object::<WireFragment<'a>>(Some(fragment))? else {
                continue;
            };
            let function = object::<WireFunction<'a>>(fragment.function)?;
            let (name, raw) =
                function.map_or((None, None), |function| (function.name, function.arguments));
            self.fragments.push(Fragment {
                index: index(fragment.index)?,
                id: text(fragment.id)?,
                name: text(name)?,
                arguments: arguments(raw)?,
                raw,
            });
        }
        Ok(())
    }

    /// A part of a content array, as Mistral's reasoning models send them.
    fn part(&mut self, raw: &'a RawValue) -> Result<(), Error> {
        if let Some(piece) = spelled(Some(raw))? {
            self.pieces.push(Piece::Content(piece));
        }
        let Some(part) = object::<WirePart<'a>>(Some(raw))? else {
            return Ok(());
        };
        match text(part.kind)?.as_deref() {
            Some("text") => {
                if let Some(piece) = spelled(part.text)? {
                    self.pieces.push(Piece::Content(piece));
                }
            }
            Some("thinking") => {
                if let Some(piece) = spelled(part.thinking)? {
                    self.pieces.push(Piece::Reasoning(Field::Content, piece));
                }
                for thought in list(part.thinking)? {
                    let thought = object::<WirePart<'a>>(Some(thought))?;
                    if let Some(piece) = spelled(thought.and_then(|part| part.text))? {
                        self.pieces.push(Piece::Reasoning(Field::Content, piece));
                    }
                }
            }
            // Mistral's way of citing.
            Some("reference") => self.citations.push(serde_json::from_str(raw.get())?),
            _ => {}
        }
        Ok(())
    }
}
