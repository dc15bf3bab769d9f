//! Events, read with serde into typed views.
//!
//! Reading is strict about JSON and lenient about types: a field of the wrong type counts as absent.

use super::super::anthropic::WRITTEN_FOR_AN_HOUR;
use super::super::error::StreamError;
use super::super::lenient::{Raw, Spelled, index, list, object, spelled, text, token_count};
use crate::event::TokenUsage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Error, Value};
use std::borrow::Cow;

/// The content of an event that the decoder uses.
#[derive(Debug)]
pub(super) enum StreamEvent<'a> {
    /// The event has nothing that is used.
    Passed,
    MessageStart,
    BlockStart {
        index: Option<u64>,
        opening: Opening<'a>,
    },
    Delta {
        index: Option<u64>,
        piece: Piece<'a>,
        /// The padding of the event, whose length hides that of the text.
        padding: Raw<'a>,
    },
    BlockStop {
        index: Option<u64>,
    },
    MessageStop {
        stop_reason: Option<Cow<'a, str>>,
    },
    Metadata {
        usage: Option<TokenUsage>,
    },
    Error(StreamError),
}

/// The start of a block.
#[derive(Debug)]
pub(super) enum Opening<'a> {
    Call {
        id: Option<Cow<'a, str>>,
        name: Option<Cow<'a, str>>,
    },
    /// The rest of the block is not read.
    Passed,
}

/// The content of a delta.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    Text(Spelled<'a>),
    Reasoning(Spelled<'a>),
    Signature(Cow<'a, str>),
    Redacted(Cow<'a, str>),
    Input(Spelled<'a>),
    Citation(Value),
    Passed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEvent<'a> {
    #[serde(borrow)]
    start: Raw<'a>,
    #[serde(borrow)]
    delta: Raw<'a>,
    #[serde(borrow)]
    content_block_index: Raw<'a>,
    #[serde(borrow)]
    stop_reason: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    p: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireStart<'a> {
    #[serde(borrow)]
    tool_use: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireToolUse<'a> {
    #[serde(borrow)]
    tool_use_id: Raw<'a>,
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireDelta<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    tool_use: Raw<'a>,
    #[serde(borrow)]
    reasoning_content: Raw<'a>,
    #[serde(borrow)]
    citation: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireReasoning<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    signature: Raw<'a>,
    #[serde(borrow)]
    redacted_content: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage<'a> {
    #[serde(borrow)]
    input_tokens: Raw<'a>,
    #[serde(borrow)]
    output_tokens: Raw<'a>,
    #[serde(borrow)]
    cache_read_input_tokens: Raw<'a>,
    #[serde(borrow)]
    cache_write_input_tokens: Raw<'a>,
    #[serde(borrow)]
    cache_details: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCacheDetail<'a> {
    #[serde(borrow)]
    ttl: Raw<'a>,
    #[serde(borrow)]
    input_tokens: Raw<'a>,
}

impl<'a> StreamEvent<'a> {
    /// Reads an event by its name and its payload.
    pub(super) fn read(name: &str, data: &'a str) -> Result<Self, Error> {
        if !data.trim_start().starts_with('{') {
            return serde_json::from_str::<IgnoredAny>(data).map(|_| Self::Passed);
        }
        let wire: WireEvent<'a> = serde_json::from_str(data)?;
        let index = || index(wire.content_block_index);
        Ok(match name {
            "messageStart" => Self::MessageStart,
            "contentBlockStart" => Self::BlockStart {
                index: index()?,
                opening: Opening::read(wire.start)?,
            },
            "contentBlockDelta" => Self::Delta {
                index: index()?,
                piece: Piece::read(wire.delta)?,
                padding: wire.p,
            },
            "contentBlockStop" => Self::BlockStop { index: index()? },
            "messageStop" => Self::MessageStop {
                stop_reason: text(wire.stop_reason)?,
            },
            "metadata" => Self::Metadata {
                usage: read_usage(wire.usage)?,
            },
            _ => StreamError::foreign(data).map_or(Self::Passed, Self::Error),
        })
    }
}

impl<'a> Opening<'a> {
    fn read(start: Raw<'a>) -> Result<Self, Error> {
        let start = object::<WireStart<'a>>(start)?;
        let call = match start {
            Some(start) => object::<WireToolUse<'a>>(start.tool_use)?,
            None => None,
        };
        Ok(match call {
            Some(call) if text(call.kind)?.as_deref() != Some("server_tool_use") => Self::Call {
                id: text(call.tool_use_id)?,
                name: text(call.name)?,
            },
            _ => Self::Passed,
        })
    }
}

impl<'a> Piece<'a> {
    fn read(delta: Raw<'a>) -> Result<Self, Error> {
        let Some(delta) = object::<WireDelta<'a>>(delta)? else {
            return Ok(Self::Passed);
        };
        if let Some(text) = spelled(delta.text)? {
            return Ok(Self::Text(text));
        }
        if let Some(call) = object::<WireToolUse<'a>>(delta.tool_use)? {
            return Ok(spelled(call.input)?.map_or(Self::Passed, Self::Input));
        }
        if let Some(reasoning) = object::<WireReasoning<'a>>(delta.reasoning_content)? {
            return Ok(if let Some(words) = spelled(reasoning.text)? {
                Self::Reasoning(words)
            } else if let Some(signature) = text(reasoning.signature)? {
                Self::Signature(signature)
            } else if let Some(data) = text(reasoning.redacted_content)? {
                Self::Redacted(data)
            } else {
                Self::Passed
            });
        }
        Ok(match delta.citation {
            Some(citation) => Self::Citation(serde_json::from_str(citation.get())?),
            None => Self::Passed,
        })
    }
}

/// Reads a `usage` object; `None` where it counts nothing.
fn read_usage(raw: Raw<'_>) -> Result<Option<TokenUsage>, Error> {
    let Some(usage) = object::<WireUsage<'_>>(raw)? else {
        return Ok(None);
    };
    let mut read = TokenUsage {
        input_tokens: token_count(usage.input_tokens),
        output_tokens: token_count(usage.output_tokens),
        cached_input_tokens: token_count(usage.cache_read_input_tokens),
        cache_write_input_tokens: token_count(usage.cache_write_input_tokens),
        ..TokenUsage::default()
    };
    for detail in list(usage.cache_details)? {
        // These cost more than those that are kept for five minutes.
        if let Some(detail) = object::<WireCacheDetail<'_>>(Some(detail))?
            && text(detail.ttl)?.as_deref() == Some("1h")
            && let Some(hour) = token_count(detail.input_tokens).filter(|hour| *hour > 0)
        {
            read.extra
                .insert(WRITTEN_FOR_AN_HOUR.to_owned(), hour.into());
        }
    }
    Ok((read != TokenUsage::default()).then_some(read))
}
