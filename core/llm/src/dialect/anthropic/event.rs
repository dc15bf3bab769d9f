//! Frames, read with serde into typed views.
//!
//! Reading is strict about JSON and lenient about types: a field of the wrong type counts as absent.

use super::super::error::StreamError;
use super::super::lenient::{Raw, Spelled, index, json_text, list, object, spelled, string};
use super::layout::Container;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Error, Map, Value};
use std::borrow::Cow;

/// The content of a frame that the decoder uses.
#[derive(Debug)]
pub(super) enum StreamEvent<'a> {
    /// The frame has nothing that is used.
    Passed,
    MessageStart(MessageStart<'a>),
    BlockStart {
        index: Option<u64>,
        opening: Opening<'a>,
    },
    Delta {
        index: Option<u64>,
        piece: Piece<'a>,
    },
    BlockStop {
        index: Option<u64>,
    },
    MessageDelta {
        stop_reason: Option<Cow<'a, str>>,
        refusal: Option<Cow<'a, str>>,
        container: Option<Container>,
        usage: Value,
    },
    MessageStop,
    Error(StreamError),
}

/// The start of a message.
#[derive(Debug, Default)]
pub(super) struct MessageStart<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) usage: Value,
    pub(super) container: Option<Container>,
    /// Blocks that are already complete, each with its size in the frame.
    pub(super) blocks: Vec<(Opening<'a>, usize)>,
    /// The reason, if the answer is complete at its start.
    pub(super) stop_reason: Option<Cow<'a, str>>,
    pub(super) refusal: Option<Cow<'a, str>>,
}

/// The start of a tool call.
#[derive(Debug)]
pub(super) struct CallOpening<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    /// The input, if the block has it.
    pub(super) input: Option<Cow<'a, str>>,
    pub(super) caller: Option<Value>,
}

/// The start of a block.
#[derive(Debug)]
pub(super) enum Opening<'a> {
    Text {
        text: Cow<'a, str>,
        citations: Vec<Value>,
    },
    Thinking {
        text: Cow<'a, str>,
        signature: Cow<'a, str>,
    },
    Redacted(Cow<'a, str>),
    Call(CallOpening<'a>),
    /// A block for the provider only that continues.
    Own(Value),
    /// The complete result of a provider's own tool.
    ServerResult(Value),
    Passed,
}

/// The content of a delta.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    Text(Spelled<'a>),
    Thinking(Spelled<'a>),
    Input(Spelled<'a>),
    Signature(Cow<'a, str>),
    Citation(Value),
    /// Fields of a compaction.
    Compaction(Map<String, Value>),
    Passed,
}

#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    index: Raw<'a>,
    #[serde(borrow)]
    delta: Raw<'a>,
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    content_block: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    container: Raw<'a>,
    #[serde(borrow)]
    stop_reason: Raw<'a>,
    #[serde(borrow)]
    stop_details: Raw<'a>,
}

#[derive(Deserialize)]
struct WireBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    citations: Raw<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
    #[serde(borrow)]
    signature: Raw<'a>,
    #[serde(borrow)]
    data: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    caller: Raw<'a>,
}

#[derive(Deserialize)]
struct WireDelta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
    #[serde(borrow)]
    partial_json: Raw<'a>,
    #[serde(borrow)]
    signature: Raw<'a>,
    #[serde(borrow)]
    citation: Raw<'a>,
    #[serde(borrow)]
    stop_reason: Raw<'a>,
    #[serde(borrow)]
    stop_details: Raw<'a>,
    #[serde(borrow)]
    container: Raw<'a>,
}

#[derive(Deserialize)]
struct WireContainer<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    expires_at: Raw<'a>,
}

#[derive(Deserialize)]
struct WireStopDetails<'a> {
    #[serde(borrow)]
    explanation: Raw<'a>,
}

impl<'a> StreamEvent<'a> {
    /// Reads a frame. What is JSON but no event is passed over.
    pub(super) fn read(data: &'a str) -> Result<Self, Error> {
        if !data.starts_with('{') {
            return serde_json::from_str::<IgnoredAny>(data).map(|_| Self::Passed);
        }
        let wire: WireEvent<'a> = serde_json::from_str(data)?;
        Ok(match text(wire.kind)?.as_ref() {
            "message_start" => match object::<WireMessage<'a>>(wire.message)? {
                Some(message) => {
                    let (stop_reason, refusal) =
                        stopped(message.stop_reason, message.stop_details)?;
                    Self::MessageStart(MessageStart {
                        stop_reason,
                        refusal,
                        id: Some(text(message.id)?).filter(|id| !id.is_empty()),
                        model: Some(text(message.model)?).filter(|model| !model.is_empty()),
                        usage: value(message.usage)?,
                        container: container(message.container)?,
                        blocks: Opening::whole(message.content)?,
                    })
                }
                None => Self::MessageStart(MessageStart::default()),
            },
            "content_block_start" => match object(wire.content_block)? {
                Some(block) => Self::BlockStart {
                    index: index(wire.index)?,
                    opening: Opening::read(&block, wire.content_block)?,
                },
                None => Self::Passed,
            },
            "content_block_delta" => match object(wire.delta)? {
                Some(delta) => Self::Delta {
                    index: index(wire.index)?,
                    piece: Piece::read(&delta, wire.delta)?,
                },
                None => Self::Passed,
            },
            "content_block_stop" => Self::BlockStop {
                index: index(wire.index)?,
            },
            "message_delta" => Self::message_delta(&wire)?,
            "message_stop" => Self::MessageStop,
            "error" => Self::Error(StreamError::read(data.as_bytes())),
            _ => StreamError::foreign(data).map_or(Self::Passed, Self::Error),
        })
    }

    fn message_delta(wire: &WireEvent<'a>) -> Result<Self, Error> {
        let usage = value(wire.usage)?;
        let Some(delta) = object::<WireDelta<'a>>(wire.delta)? else {
            return Ok(Self::MessageDelta {
                stop_reason: None,
                refusal: None,
                container: None,
                usage,
            });
        };
        let (stop_reason, refusal) = stopped(delta.stop_reason, delta.stop_details)?;
        Ok(Self::MessageDelta {
            stop_reason,
            refusal,
            container: container(delta.container)?,
            usage,
        })
    }
}

impl<'a> Opening<'a> {
    /// The blocks of a message.
    fn whole(content: Raw<'a>) -> Result<Vec<(Self, usize)>, Error> {
        let mut blocks = Vec::new();
        let said = text(content)?;
        if !said.is_empty() {
            let citations = Vec::new();
            blocks.push((
                Self::Text {
                    text: said,
                    citations,
                },
                0,
            ));
        }
        for raw in list(content)? {
            if let Some(block) = object(Some(raw))? {
                blocks.push((Self::read(&block, Some(raw))?, raw.get().len()));
            }
        }
        Ok(blocks)
    }

    fn read(block: &WireBlock<'a>, whole: Raw<'a>) -> Result<Self, Error> {
        let kind = text(block.kind)?;
        Ok(match kind.as_ref() {
            "text" => Self::Text {
                text: text(block.text)?,
                citations: match value(block.citations)? {
                    Value::Array(citations) => citations,
                    _ => Vec::new(),
                },
            },
            "thinking" => Self::Thinking {
                text: text(block.thinking)?,
                signature: text(block.signature)?,
            },
            "redacted_thinking" => Self::Redacted(text(block.data)?),
            "tool_use" => Self::Call(CallOpening {
                id: Some(text(block.id)?),
                name: text(block.name)?,
                input: match object::<Map<String, Value>>(block.input)? {
                    Some(input) if !input.is_empty() => block.input.map(json_text),
                    // Other APIs send the input as text.
                    _ => Some(text(block.input)?).filter(|input| !input.is_empty()),
                },
                caller: match value(block.caller)? {
                    Value::Object(caller)
                        if caller.get("type").is_some_and(|kind| kind != "direct") =>
                    {
                        Some(Value::Object(caller))
                    }
                    _ => None,
                },
            }),
            kind if kind.ends_with("_tool_result") => Self::ServerResult(value(whole)?),
            kind if is_own(kind) => Self::Own(value(whole)?),
            _ => Self::Passed,
        })
    }
}

/// Returns whether a block of this kind is of the provider's own tools, or marks what it did to the conversation.
fn is_own(kind: &str) -> bool {
    kind.ends_with("_tool_use")
        || kind.ends_with("_tool_result")
        || matches!(
            kind,
            "compaction" | "container_upload" | "fallback" | "mcp_tool_listing"
        )
}

impl<'a> Piece<'a> {
    fn read(delta: &WireDelta<'a>, whole: Raw<'a>) -> Result<Self, Error> {
        Ok(match text(delta.kind)?.as_ref() {
            "text_delta" => spelled(delta.text)?.map_or(Self::Passed, Self::Text),
            "thinking_delta" => spelled(delta.thinking)?.map_or(Self::Passed, Self::Thinking),
            "input_json_delta" => spelled(delta.partial_json)?.map_or(Self::Passed, Self::Input),
            "signature_delta" => Self::Signature(text(delta.signature)?),
            "citations_delta" => match value(delta.citation)? {
                Value::Null => Self::Passed,
                citation => Self::Citation(citation),
            },
            "compaction_delta" => Self::Compaction(object(whole)?.unwrap_or_default()),
            _ => Self::Passed,
        })
    }
}

/// The reason why the model stopped, and why it refused.
type Stopped<'a> = (Option<Cow<'a, str>>, Option<Cow<'a, str>>);

fn stopped<'a>(reason: Raw<'a>, details: Raw<'a>) -> Result<Stopped<'a>, Error> {
    let reason = text(reason)?;
    let refusal = match object::<WireStopDetails<'a>>(details)? {
        Some(details) if reason == "refusal" => text(details.explanation)?,
        _ => Cow::default(),
    };
    let given = |text: Cow<'a, str>| Some(text).filter(|text| !text.is_empty());
    Ok((given(reason), given(refusal)))
}

/// Returns where the provider ran its tools.
fn container(raw: Raw<'_>) -> Result<Option<Container>, Error> {
    let Some(container) = object::<WireContainer<'_>>(raw)? else {
        return Ok(None);
    };
    let id = text(container.id)?;
    let expires_at = string(container.expires_at)?.map(Cow::into_owned);
    Ok((!id.is_empty()).then(|| Container {
        id: id.into_owned(),
        expires_at,
    }))
}

/// Returns a string, or an empty one.
fn text<'a>(raw: Raw<'a>) -> Result<Cow<'a, str>, Error> {
    Ok(string(raw)?.unwrap_or_default())
}

/// Returns any value, or null.
fn value(raw: Raw<'_>) -> Result<Value, Error> {
    raw.map_or(Ok(Value::Null), |raw| serde_json::from_str(raw.get()))
}
