//! Lines, read with serde into typed views.

use super::super::error::StreamError;
use super::super::lenient::{
    Raw, Spelled, arguments, is_true, list, object, spelled, starts_with, text, token_count,
};
use super::super::template::Gap;
use crate::event::TokenUsage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Error;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The content of a line that the decoder uses.
#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) thinking: Option<Spelled<'a>>,
    pub(super) content: Option<Spelled<'a>>,
    pub(super) calls: Vec<Call<'a>>,
    pub(super) done: Option<Done>,
    pub(super) error: Option<StreamError>,
    created_at: Raw<'a>,
}

/// The kind of delta in a line that contains nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeltaKind {
    Content,
    Thinking,
}

/// A complete call.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Cow<'a, str>,
}

/// The end of the answer.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) reason: Option<String>,
    pub(super) usage: Option<TokenUsage>,
}

#[derive(Deserialize)]
struct WireLine<'a> {
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    done: Raw<'a>,
    #[serde(borrow)]
    done_reason: Raw<'a>,
    #[serde(borrow)]
    prompt_eval_count: Raw<'a>,
    #[serde(borrow)]
    eval_count: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    created_at: Raw<'a>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
    #[serde(borrow)]
    tool_calls: Raw<'a>,
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

impl<'a> Line<'a> {
    /// Reads a line, or returns `None` for JSON that is not part of an answer.
    pub(super) fn read(data: &'a str) -> Result<Option<Self>, Error> {
        if !data.starts_with('{') {
            return serde_json::from_str::<IgnoredAny>(data).map(|_| None);
        }
        let wire: WireLine<'a> = serde_json::from_str(data)?;
        let mut line = Self {
            model: text(wire.model).unwrap_or_default(),
            created_at: wire.created_at,
            ..Self::default()
        };
        if let Some(message) = object::<WireMessage<'a>>(wire.message)? {
            line.thinking = spelled(message.thinking)?;
            line.content = spelled(message.content)?;
            for raw in list(message.tool_calls)? {
                line.calls.extend(Call::read(raw)?);
            }
        }
        if is_true(wire.done) {
            let usage = TokenUsage {
                input_tokens: token_count(wire.prompt_eval_count),
                output_tokens: token_count(wire.eval_count),
                ..TokenUsage::default()
            };
            line.done = Some(Done {
                reason: text(wire.done_reason)?.map(Cow::into_owned),
                usage: (usage != TokenUsage::default()).then_some(usage),
            });
        }
        line.error = wire.error.map(|_| StreamError::read(data.as_bytes()));
        let is_part = starts_with(wire.message, '{') || line.done.is_some();
        if !is_part && line.error.is_none() {
            line.error = StreamError::foreign(data);
        }
        Ok((is_part || line.error.is_some()).then_some(line))
    }
}

impl<'a> Line<'a> {
    /// Returns the delta, if the line contains only one, with the values that may differ in the next line.
    pub(super) fn piece(&self) -> Option<(DeltaKind, [(Gap, Raw<'a>); 2])> {
        if !self.calls.is_empty() || self.done.is_some() || self.error.is_some() {
            return None;
        }
        let (kind, text) = match (&self.content, &self.thinking) {
            (Some(text), None) => (DeltaKind::Content, text),
            (None, Some(text)) => (DeltaKind::Thinking, text),
            _ => return None,
        };
        let gaps = [(Gap::Text, Some(text.raw)), (Gap::Passed, self.created_at)];
        Some((kind, gaps))
    }
}

impl<'a> Call<'a> {
    /// A call; `None` where nothing is called.
    fn read(raw: &'a RawValue) -> Result<Option<Self>, Error> {
        let Some(call) = object::<WireCall<'a>>(Some(raw))? else {
            return Ok(None);
        };
        let Some(function) = object::<WireFunction<'a>>(call.function)? else {
            return Ok(None);
        };
        // An object as the API has it, or its text as other APIs do.
        let arguments = arguments(function.arguments)?.unwrap_or_default();
        let id = text(call.id)?;
        Ok(text(function.name)?.map(|name| Self {
            id,
            name,
            arguments,
        }))
    }
}
