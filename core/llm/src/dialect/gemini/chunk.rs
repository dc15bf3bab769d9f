//! Frames, read with serde into typed views.

use super::super::error::StreamError;
use super::super::lenient::{
    Raw, index, is_true, json_text, list, object, starts_with, string, text, token_count,
};
use super::super::template::{COUNTS, Gap};
use super::partial::{PartialArg, PartialValue};
use crate::event::TokenUsage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Error, Map, Value, json};
use std::array;
use std::borrow::Cow;

/// The content of a chunk that the decoder uses.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub(super) response_id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) stop_reason: Option<Cow<'a, str>>,
    pub(super) usage: Option<TokenUsage>,
    pub(super) error: Option<StreamError>,
    /// The JSON of the usage counts in the frame.
    counts: [Raw<'a>; COUNTS],
}

/// The kind of delta in a chunk that contains only the delta and token counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeltaKind {
    pub(super) is_thought: bool,
    /// The counts that are present.
    has: [bool; COUNTS],
}

impl DeltaKind {
    /// The usage that these counts are, if there is any.
    pub(super) fn usage(&self, counts: &[u64; COUNTS]) -> Option<TokenUsage> {
        usage(array::from_fn(|at| self.has[at].then_some(counts[at])))
    }
}

/// A part of the answer.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    Text(Signed<'a>),
    Thought(Signed<'a>),
    Call(Call<'a>),
    Custom(&'static str, Value),
    /// A complete part of another kind, which is sent back unchanged.
    Kept(&'static str, Map<String, Value>),
}

/// Text, which may be empty where it has a signature.
#[derive(Debug)]
pub(super) struct Signed<'a> {
    pub(super) text: Cow<'a, str>,
    /// The JSON of the text in the frame.
    pub(super) raw: Raw<'a>,
    pub(super) signature: Option<Cow<'a, str>>,
}

/// A call, or a part of one.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    /// The name; absent where the delta continues the previous call.
    pub(super) name: Option<Cow<'a, str>>,
    /// The JSON in the frame.
    pub(super) arguments: Option<Cow<'a, str>>,
    pub(super) partial: Vec<PartialArg<'a>>,
    pub(super) will_continue: bool,
    pub(super) signature: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireChunk<'a> {
    #[serde(borrow)]
    candidates: Raw<'a>,
    #[serde(borrow)]
    usage_metadata: Raw<'a>,
    #[serde(borrow)]
    model_version: Raw<'a>,
    #[serde(borrow)]
    response_id: Raw<'a>,
    #[serde(borrow)]
    prompt_feedback: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFeedback<'a> {
    #[serde(borrow)]
    block_reason: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCandidate<'a> {
    #[serde(borrow)]
    index: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    finish_reason: Raw<'a>,
    #[serde(borrow)]
    citation_metadata: Raw<'a>,
    #[serde(borrow)]
    grounding_metadata: Raw<'a>,
    #[serde(borrow)]
    url_context_metadata: Raw<'a>,
}

#[derive(Deserialize)]
struct WireContent<'a> {
    #[serde(borrow)]
    parts: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    thought: Raw<'a>,
    #[serde(borrow)]
    thought_signature: Raw<'a>,
    #[serde(borrow)]
    function_call: Raw<'a>,
    #[serde(borrow)]
    executable_code: Raw<'a>,
    #[serde(borrow)]
    code_execution_result: Raw<'a>,
    #[serde(borrow)]
    inline_data: Raw<'a>,
    #[serde(borrow)]
    file_data: Raw<'a>,
    #[serde(borrow)]
    tool_call: Raw<'a>,
    #[serde(borrow)]
    tool_response: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCall<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    args: Raw<'a>,
    #[serde(borrow)]
    partial_args: Raw<'a>,
    #[serde(borrow)]
    will_continue: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePartialArg<'a> {
    #[serde(borrow)]
    json_path: Raw<'a>,
    #[serde(borrow)]
    string_value: Raw<'a>,
    #[serde(borrow)]
    number_value: Raw<'a>,
    #[serde(borrow)]
    bool_value: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage<'a> {
    #[serde(borrow)]
    prompt_token_count: Raw<'a>,
    #[serde(borrow)]
    candidates_token_count: Raw<'a>,
    #[serde(borrow)]
    total_token_count: Raw<'a>,
    #[serde(borrow)]
    thoughts_token_count: Raw<'a>,
    #[serde(borrow)]
    cached_content_token_count: Raw<'a>,
}

impl<'a> Chunk<'a> {
    /// Reads a frame, or returns `None` for JSON that is not a chunk.
    pub(super) fn read(data: &'a str) -> Result<Option<Self>, Error> {
        if !data.trim_start().starts_with('{') {
            return serde_json::from_str::<IgnoredAny>(data).map(|_| None);
        }
        let wire: WireChunk<'a> = serde_json::from_str(data)?;
        let mut chunk = Self {
            response_id: text(wire.response_id).unwrap_or_default(),
            model: text(wire.model_version).unwrap_or_default(),
            ..Self::default()
        };
        if let Some(wire) = object::<WireUsage<'a>>(wire.usage_metadata)? {
            chunk.counts = [
                wire.prompt_token_count,
                wire.candidates_token_count,
                wire.total_token_count,
                wire.thoughts_token_count,
                wire.cached_content_token_count,
            ];
            chunk.usage = usage(chunk.counts.map(token_count));
        }
        if let Some(feedback) = object::<WireFeedback<'a>>(wire.prompt_feedback)? {
            // These two do not say that it was a filter.
            let says_nothing =
                |reason: &str| matches!(reason, "OTHER" | "BLOCK_REASON_UNSPECIFIED");
            let reason = text(feedback.block_reason)?;
            chunk.stop_reason = reason.map(|reason| match says_nothing(&reason) {
                true => "content_filter".into(),
                false => reason,
            });
        }
        for (position, raw) in list(wire.candidates)?.into_iter().enumerate() {
            if let Some(candidate) = object::<WireCandidate<'a>>(Some(raw))?
                && index(candidate.index)?.map_or(position == 0, |index| index == 0)
            {
                chunk.candidate(&candidate)?;
            }
        }
        chunk.error = wire.error.map(|_| StreamError::read(data.as_bytes()));
        let is_chunk = starts_with(wire.candidates, '[')
            || chunk.usage.is_some()
            || chunk.stop_reason.is_some();
        if !is_chunk && chunk.error.is_none() {
            chunk.error = StreamError::foreign(data);
        }
        Ok((is_chunk || chunk.error.is_some()).then_some(chunk))
    }

    /// Returns the delta, if the chunk contains only one, with or without counts.
    pub(super) fn piece(&self) -> Option<(DeltaKind, [(Gap, Raw<'a>); COUNTS + 1])> {
        if self.stop_reason.is_some() || self.error.is_some() {
            return None;
        }
        let (is_thought, signed) = match self.pieces.as_slice() {
            [Piece::Text(signed)] => (false, signed),
            [Piece::Thought(signed)] => (true, signed),
            _ => return None,
        };
        if signed.signature.is_some() {
            return None;
        }
        let has = self.counts.map(|count| count.is_some());
        let [a, b, c, d, e] = self.counts;
        let gaps = [
            (Gap::Text, signed.raw),
            (Gap::Count(0), a),
            (Gap::Count(1), b),
            (Gap::Count(2), c),
            (Gap::Count(3), d),
            (Gap::Count(4), e),
        ];
        Some((DeltaKind { is_thought, has }, gaps))
    }

    fn candidate(&mut self, candidate: &WireCandidate<'a>) -> Result<(), Error> {
        let content = object::<WireContent<'a>>(candidate.content)?;
        for part in list(content.and_then(|content| content.parts))? {
            self.part(part)?;
        }
        for (name, raw) in [
            ("citationMetadata", candidate.citation_metadata),
            ("groundingMetadata", candidate.grounding_metadata),
            ("urlContextMetadata", candidate.url_context_metadata),
        ] {
            if let Some(metadata) = value(raw) {
                self.pieces
                    .push(Piece::Custom("citation", json!({ name: metadata })));
            }
        }
        if let Some(reason) = text(candidate.finish_reason)? {
            self.stop_reason = Some(reason);
        }
        Ok(())
    }

    fn part(&mut self, raw: &'a RawValue) -> Result<(), Error> {
        let Some(part) = object::<WirePart<'a>>(Some(raw))? else {
            return Ok(());
        };
        let signature = text(part.thought_signature)?;
        if let Some(call) = object::<WireCall<'a>>(part.function_call)? {
            self.pieces.push(Piece::Call(Call::new(&call, signature)?));
            return Ok(());
        }
        for (name, kind) in [
            ("executableCode", part.executable_code),
            ("codeExecutionResult", part.code_execution_result),
            ("inlineData", part.inline_data),
            ("fileData", part.file_data),
            ("toolCall", part.tool_call),
            ("toolResponse", part.tool_response),
        ] {
            if let Some(content) = value(kind) {
                // Thoughts are for the user: only signed ones are sent back.
                self.pieces
                    .push(if is_true(part.thought) && signature.is_none() {
                        Piece::Custom(name, content)
                    } else {
                        Piece::Kept(name, serde_json::from_str(raw.get())?)
                    });
                return Ok(());
            }
        }
        let said = string(part.text)?;
        if said.is_none() && signature.is_none() {
            self.pieces
                .extend(value(Some(raw)).map(|part| Piece::Custom("part", part)));
            return Ok(());
        }
        let signed = Signed {
            text: said.unwrap_or_default(),
            raw: part.text,
            signature,
        };
        if !signed.text.is_empty() || signed.signature.is_some() {
            self.pieces.push(if is_true(part.thought) {
                Piece::Thought(signed)
            } else {
                Piece::Text(signed)
            });
        }
        Ok(())
    }
}

impl<'a> Call<'a> {
    fn new(call: &WireCall<'a>, signature: Option<Cow<'a, str>>) -> Result<Self, Error> {
        let mut partial = Vec::new();
        for raw in list(call.partial_args)? {
            if let Some(argument) = object::<WirePartialArg<'a>>(Some(raw))? {
                partial.extend(argument.read()?);
            }
        }
        Ok(Self {
            id: text(call.id)?,
            name: text(call.name)?,
            arguments: call.args.map(json_text),
            partial,
            will_continue: is_true(call.will_continue),
            signature,
        })
    }
}

impl<'a> WirePartialArg<'a> {
    fn read(&self) -> Result<Option<PartialArg<'a>>, Error> {
        let Some(path) = text(self.json_path)? else {
            return Ok(None);
        };
        let plain = [self.number_value, self.bool_value];
        let value = if let Some(piece) = string(self.string_value)? {
            PartialValue::Text(piece)
        } else if let Some(value) = plain.into_iter().flatten().next() {
            match serde_json::from_str::<Value>(value.get()) {
                Ok(value @ (Value::Number(_) | Value::Bool(_))) => PartialValue::Plain(value),
                _ => return Ok(None),
            }
        } else {
            // In JSON `nullValue` is null, which is treated as absent.
            PartialValue::Plain(Value::Null)
        };
        Ok(Some(PartialArg { path, value }))
    }
}

/// An object with something in it.
fn value(raw: Raw<'_>) -> Option<Value> {
    let value: Value = serde_json::from_str(raw?.get()).ok()?;
    let is_filled = value.as_object().is_some_and(|fields| !fields.is_empty());
    is_filled.then_some(value)
}

/// The usage of these counts, if there is any.
fn usage(counts: [Option<u64>; COUNTS]) -> Option<TokenUsage> {
    let [input, output, total, reasoning, cached_input] = counts;
    let usage = TokenUsage {
        input_tokens: input,
        output_tokens: output,
        total_tokens: total,
        reasoning_tokens: reasoning,
        cached_input_tokens: cached_input,
        ..TokenUsage::default()
    };
    (counts != [None; COUNTS]).then_some(usage)
}
