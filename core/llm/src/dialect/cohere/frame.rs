//! Frames, read with serde into typed views.

use super::super::error::StreamError;
use super::super::lenient::{
    Raw, Spelled, arguments, index, list, object, spelled, starts_with, text, token_count,
};
use crate::event::TokenUsage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Error, Value};
use std::borrow::Cow;

/// The content of a frame that the decoder uses.
// One at a time, on the stack.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub(super) enum FrameContent<'a> {
    /// The frame has nothing that is used.
    Nothing,
    /// The answer starts.
    Start { id: Option<Cow<'a, str>> },
    /// Deltas of the answer, in order.
    Pieces(Vec<Piece<'a>>),
    /// A content block ends.
    ContentEnd,
    /// A call starts, perhaps with the beginning of its arguments.
    CallStart {
        index: Option<u64>,
        id: Option<Cow<'a, str>>,
        name: Option<Cow<'a, str>>,
        arguments: Option<Cow<'a, str>>,
    },
    /// A delta of a call's arguments.
    CallDelta {
        index: Option<u64>,
        id: Option<Cow<'a, str>>,
        arguments: Option<Cow<'a, str>>,
        /// The JSON of the arguments in the frame.
        raw: Raw<'a>,
    },
    /// A call ends.
    CallEnd { index: Option<u64> },
    /// Citations of the text.
    Citations(Vec<Value>),
    /// The answer is over.
    AnswerEnd(AnswerEnd),
    /// The provider reports an error.
    Error(StreamError),
}

#[derive(Debug)]
pub(super) enum Piece<'a> {
    Text(Spelled<'a>),
    Thinking(Spelled<'a>),
    ToolPlan(Spelled<'a>),
}

/// The kind of delta in a frame that contains nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeltaKind {
    Text,
    Thinking,
    ToolPlan,
    /// The arguments of the call with this index.
    Arguments(Option<u64>),
}

/// The end of an answer.
#[derive(Debug, Default)]
pub(super) struct AnswerEnd {
    pub(super) finish_reason: Option<String>,
    pub(super) usage: Option<TokenUsage>,
    pub(super) failure: Option<StreamError>,
}

#[derive(Deserialize)]
struct WireFrame<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    index: Raw<'a>,
    #[serde(borrow)]
    delta: Raw<'a>,
    #[serde(borrow)]
    message: Raw<'a>,
}

#[derive(Deserialize)]
struct WireDelta<'a> {
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    finish_reason: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    error_type: Raw<'a>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    tool_plan: Raw<'a>,
    #[serde(borrow)]
    tool_calls: Raw<'a>,
    #[serde(borrow)]
    citations: Raw<'a>,
}

#[derive(Deserialize)]
struct WireContent<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
}

#[derive(Deserialize)]
struct WireCall<'a> {
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
struct WireUsage<'a> {
    #[serde(borrow)]
    tokens: Raw<'a>,
    #[serde(borrow)]
    billed_units: Raw<'a>,
    #[serde(borrow)]
    cached_tokens: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct WireTokens<'a> {
    #[serde(borrow)]
    input_tokens: Raw<'a>,
    #[serde(borrow)]
    output_tokens: Raw<'a>,
    #[serde(borrow)]
    reasoning_tokens: Raw<'a>,
}

/// The fields of a call in a frame.
#[derive(Default)]
struct CallFields<'a> {
    id: Raw<'a>,
    name: Raw<'a>,
    arguments: Raw<'a>,
}

impl<'a> CallFields<'a> {
    fn read(tool_calls: Raw<'a>) -> Result<Self, Error> {
        let Some(call) = one::<WireCall<'a>>(tool_calls)? else {
            return Ok(Self::default());
        };
        let function = object::<WireFunction<'a>>(call.function)?;
        Ok(Self {
            id: call.id,
            name: function.as_ref().and_then(|function| function.name),
            arguments: function.and_then(|function| function.arguments),
        })
    }
}

/// Reads citations: one object, or a list of them.
fn citations(raw: Raw<'_>) -> Result<Vec<Value>, Error> {
    let all = if starts_with(raw, '{') {
        raw.into_iter().collect()
    } else {
        list(raw)?
    };
    all.into_iter()
        .map(|raw| serde_json::from_str(raw.get()))
        .collect()
}

impl<'a> FrameContent<'a> {
    /// Reads a frame. `event` is its name, for a frame that has no type of its own.
    pub(super) fn read(event: &str, data: &'a str) -> Result<Self, Error> {
        if !data.trim_start().starts_with('{') {
            return serde_json::from_str::<IgnoredAny>(data).map(|_| Self::Nothing);
        }
        let wire: WireFrame<'a> = serde_json::from_str(data)?;
        let index = index(wire.index)?;
        let kind = text(wire.kind)?;
        let kind = match kind.as_deref() {
            Some(kind) => kind,
            None if !event.is_empty() => event,
            // An error body where a stream should be.
            None if starts_with(wire.message, '"') => {
                return Ok(Self::Error(StreamError::read(data.as_bytes())));
            }
            None => "",
        };
        let delta: Option<WireDelta<'a>> = object(wire.delta)?;
        let message = match &delta {
            Some(delta) => object::<WireMessage<'a>>(delta.message)?,
            None => None,
        };
        let tool_calls = message.as_ref().and_then(|message| message.tool_calls);
        Ok(match kind {
            "message-start" => Self::Start { id: text(wire.id)? },
            "content-start" | "content-delta" => {
                let content = message.and_then(|message| message.content);
                Self::Pieces(content_pieces(content)?)
            }
            "tool-plan-delta" => {
                let piece = spelled(message.and_then(|message| message.tool_plan))?;
                Self::Pieces(piece.map(Piece::ToolPlan).into_iter().collect())
            }
            "content-end" => Self::ContentEnd,
            "tool-call-start" => {
                let call = CallFields::read(tool_calls)?;
                Self::CallStart {
                    index,
                    id: text(call.id)?,
                    name: text(call.name)?,
                    arguments: arguments(call.arguments)?,
                }
            }
            "tool-call-delta" => {
                let call = CallFields::read(tool_calls)?;
                Self::CallDelta {
                    index,
                    id: text(call.id)?,
                    arguments: arguments(call.arguments)?,
                    raw: call.arguments,
                }
            }
            "tool-call-end" => Self::CallEnd { index },
            "citation-start" => {
                Self::Citations(citations(message.and_then(|message| message.citations))?)
            }
            "message-end" => Self::AnswerEnd(match &delta {
                Some(delta) => delta.end()?,
                None => AnswerEnd::default(),
            }),
            "error" => Self::Error(StreamError::read(data.as_bytes())),
            _ => StreamError::foreign(data).map_or(Self::Nothing, Self::Error),
        })
    }

    /// Returns the delta, if the frame contains only one.
    pub(super) fn piece(&self) -> Option<(DeltaKind, &'a RawValue)> {
        match self {
            Self::Pieces(pieces) => match pieces.as_slice() {
                [Piece::Text(text)] => Some((DeltaKind::Text, text.raw)),
                [Piece::Thinking(text)] => Some((DeltaKind::Thinking, text.raw)),
                [Piece::ToolPlan(text)] => Some((DeltaKind::ToolPlan, text.raw)),
                _ => None,
            },
            Self::CallDelta { index, raw, .. } => Some((DeltaKind::Arguments(*index), (*raw)?)),
            _ => None,
        }
    }
}

impl WireDelta<'_> {
    fn end(&self) -> Result<AnswerEnd, Error> {
        let finish_reason = text(self.finish_reason)?;
        let error = text(self.error)?;
        let failed = error.is_some()
            || finish_reason
                .as_deref()
                .is_some_and(|reason| reason.starts_with("ERROR") || reason == "TIMEOUT");
        let code = text(self.error_type)?;
        let failure = failed.then(|| {
            let message = error.map_or_else(
                || {
                    let reason = finish_reason.as_deref().unwrap_or_default();
                    format!("the answer ended with {reason}")
                },
                Cow::into_owned,
            );
            StreamError::new(message, code.map(Cow::into_owned))
        });
        Ok(AnswerEnd {
            finish_reason: finish_reason.map(Cow::into_owned),
            usage: read_usage(self.usage)?,
            failure,
        })
    }
}

/// Returns the text and thinking in a content block, or in several; a bare string is text.
fn content_pieces<'a>(raw: Raw<'a>) -> Result<Vec<Piece<'a>>, Error> {
    let mut pieces: Vec<_> = spelled(raw)?.map(Piece::Text).into_iter().collect();
    let blocks = if starts_with(raw, '{') {
        raw.into_iter().collect()
    } else {
        list(raw)?
    };
    for block in blocks {
        if let Some(block) = object::<WireContent<'a>>(Some(block))? {
            pieces.extend(spelled(block.thinking)?.map(Piece::Thinking));
            pieces.extend(spelled(block.text)?.map(Piece::Text));
        }
    }
    Ok(pieces)
}

/// An object, also where it is the first of a list.
fn one<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Result<Option<T>, Error> {
    if starts_with(raw, '[') {
        return object(list(raw)?.first().copied());
    }
    object(raw)
}

/// Reads a `usage` object; `None` where it counts nothing.
fn read_usage(raw: Raw<'_>) -> Result<Option<TokenUsage>, Error> {
    let Some(usage) = object::<WireUsage<'_>>(raw)? else {
        return Ok(None);
    };
    let tokens = object::<WireTokens<'_>>(usage.tokens)?.unwrap_or_default();
    let billed = object::<WireTokens<'_>>(usage.billed_units)?.unwrap_or_default();
    let billed_input = token_count(billed.input_tokens);
    let billed_output = token_count(billed.output_tokens);
    let mut read = TokenUsage {
        // The billed number is lower, but better than none.
        input_tokens: token_count(tokens.input_tokens).or(billed_input),
        output_tokens: token_count(tokens.output_tokens).or(billed_output),
        reasoning_tokens: token_count(tokens.reasoning_tokens),
        cached_input_tokens: token_count(usage.cached_tokens),
        ..TokenUsage::default()
    };
    for (name, count) in [
        ("billedInputTokens", billed_input),
        ("billedOutputTokens", billed_output),
    ] {
        if let Some(count) = count {
            read.extra.insert(name.to_owned(), count.into());
        }
    }
    Ok((read != TokenUsage::default()).then_some(read))
}
