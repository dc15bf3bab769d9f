//! Frames, read with serde into typed views.
//!
//! Reading is strict about JSON and lenient about types: a field of the wrong type counts as absent, and an event of an
//! unknown type is ignored. A frame is read completely before any event is emitted.

use super::super::error::StreamError;
use super::super::lenient::{Raw, arguments, index, list, object, starts_with, text};
use super::super::template::Gap;
use super::item::{ItemContent, WireItem};
use super::usage;
use crate::event::TokenUsage;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Error, Value};
use std::borrow::Cow;

/// The content of a frame.
#[derive(Debug)]
pub(super) enum StreamEvent<'a> {
    /// The frame has nothing that is used.
    Nothing,
    /// The answer starts.
    Began {
        id: Option<Cow<'a, str>>,
        model: Option<Cow<'a, str>>,
    },
    /// A delta of an item.
    Piece(Piece<'a>),
    /// An annotation of a message's text.
    Annotation(ItemRef<'a>, Value),
    /// An item starts.
    Added(ItemRef<'a>, WireItem<'a>),
    /// An item ends.
    Done(ItemRef<'a>, WireItem<'a>),
    /// The answer is over.
    Over(Box<Outcome<'a>>),
    /// The provider failed.
    Failed(Failure),
}

/// The item that an event belongs to.
#[derive(Debug, Default)]
pub(super) struct ItemRef<'a> {
    pub(super) output_index: Option<u64>,
    pub(super) item_id: Option<Cow<'a, str>>,
}

/// A delta of an item, or its complete text.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    pub(super) place: ItemRef<'a>,
    pub(super) kind: DeltaKind,
    pub(super) text: Cow<'a, str>,
    /// Whether this is the complete text, after deltas if there were any.
    pub(super) is_whole: bool,
    /// The text, and the fields that may differ in the next event without a meaning.
    pub(super) gaps: [(Gap, Raw<'a>); 3],
}

/// The kind of delta, with the index of its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeltaKind {
    Text(u64),
    Refusal(u64),
    Thought(Thought),
    /// The arguments of a function's call: JSON.
    Arguments,
    /// The input of a custom tool's call: any text.
    Input,
}

/// A part of a reasoning item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Thought {
    Summary(u64),
    Content(u64),
}

/// The answer in the last event.
#[derive(Debug, Default)]
pub(super) struct Outcome<'a> {
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) stop_reason: Option<Cow<'a, str>>,
    pub(super) usage: Option<TokenUsage>,
    pub(super) output: Vec<WireItem<'a>>,
    /// The tools of the request, if the event lists them.
    pub(super) tools: Option<Tools<'a>>,
    /// The failure, if the answer failed after all.
    pub(super) failure: Option<Failure>,
}

/// The tools of a request, as the provider lists them.
#[derive(Debug, Default)]
pub(super) struct Tools<'a> {
    /// The names of the app's tools.
    named: Vec<Cow<'a, str>>,
    /// Whether there are tools that the provider runs itself.
    has_own: bool,
}

impl Tools<'_> {
    /// Returns whether an item calls a tool that is not the app's, so that it must be one of the provider's own.
    pub(super) fn are_without(&self, item: &WireItem<'_>) -> bool {
        match &item.content {
            ItemContent::Call {
                is_custom: true,
                name: Some(name),
                ..
            } => self.has_own && !self.named.contains(name),
            _ => false,
        }
    }

    fn read<'a>(raw: Raw<'a>) -> Result<Option<Tools<'a>>, Error> {
        if !starts_with(raw, '[') {
            return Ok(None);
        }
        let mut tools = Tools::default();
        for tool in list(raw)? {
            let Some(tool) = object::<WireTool<'a>>(Some(tool))? else {
                continue;
            };
            match text(tool.kind)?.as_deref() {
                Some("function" | "custom" | "namespace") => tools.named.extend(text(tool.name)?),
                kind => tools.has_own |= kind.is_some(),
            }
        }
        Ok(Some(tools))
    }
}

#[derive(Deserialize)]
struct WireTool<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    name: Raw<'a>,
}

/// An error inside the stream.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: StreamError,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<TokenUsage>,
}

impl Failure {
    /// Reads an error in any of the providers' forms.
    pub(super) fn read(data: &[u8]) -> Self {
        StreamError::read(data).into()
    }
}

impl From<StreamError> for Failure {
    fn from(mut error: StreamError) -> Self {
        // The type of the event, where the error has no word of its own.
        error.code = error.code.filter(|code| code != "error");
        Self {
            error,
            stop_reason: None,
            usage: None,
        }
    }
}

/// The fields that the plain deltas have.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    output_index: Raw<'a>,
    #[serde(borrow)]
    item_id: Raw<'a>,
    #[serde(borrow)]
    content_index: Raw<'a>,
    #[serde(borrow)]
    summary_index: Raw<'a>,
    #[serde(borrow)]
    delta: Raw<'a>,
    #[serde(borrow)]
    sequence_number: Raw<'a>,
    #[serde(borrow)]
    obfuscation: Raw<'a>,
}

/// The fields that the other events have besides.
#[derive(Deserialize)]
struct Rest<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    refusal: Raw<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    annotation: Raw<'a>,
    #[serde(borrow)]
    item: Raw<'a>,
    #[serde(borrow)]
    response: Raw<'a>,
}

#[derive(Deserialize)]
struct WireResponse<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    incomplete_details: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    tools: Raw<'a>,
}

#[derive(Deserialize)]
struct WireDetails<'a> {
    #[serde(borrow)]
    reason: Raw<'a>,
}

impl<'a> StreamEvent<'a> {
    /// Reads a frame; `name` is that of the server-sent event, for data without a type.
    pub(super) fn read(data: &'a str, name: &str) -> Result<Self, Error> {
        if !data.starts_with('{') {
            return serde_json::from_str::<IgnoredAny>(data).map(|_| Self::Nothing);
        }
        let head: Head<'a> = serde_json::from_str(data)?;
        let own_kind = text(head.kind)?;
        let kind = own_kind.as_deref().unwrap_or(name);
        if let Some(kind) = kind.strip_suffix(".delta") {
            return match piece_kind(kind, &head)? {
                Some(kind) => piece(&head, kind, head.delta, false),
                None => Ok(Self::Nothing),
            };
        }
        if let Some(kind) = kind.strip_suffix(".done")
            && let Some(kind) = piece_kind(kind, &head)?
        {
            let rest: Rest<'a> = serde_json::from_str(data)?;
            let whole = match kind {
                DeltaKind::Text(_) | DeltaKind::Thought(_) => rest.text,
                DeltaKind::Refusal(_) => rest.refusal,
                DeltaKind::Arguments => rest.arguments,
                DeltaKind::Input => rest.input,
            };
            return piece(&head, kind, whole, true);
        }
        Self::read_other(data, kind, &head)
    }

    /// Reads a frame that is not about a part of an item.
    fn read_other(data: &'a str, kind: &str, head: &Head<'a>) -> Result<Self, Error> {
        let rest = || serde_json::from_str::<Rest<'a>>(data);
        Ok(match kind {
            "response.output_item.added" | "response.output_item.done" => {
                let Some(item) = WireItem::read(rest()?.item)? else {
                    return Ok(Self::Nothing);
                };
                let place = place(head)?;
                if kind.ends_with("added") {
                    Self::Added(place, item)
                } else {
                    Self::Done(place, item)
                }
            }
            // The second is an older name.
            "response.output_text.annotation.added" | "response.output_text_annotation.added" => {
                match rest()?.annotation {
                    Some(annotation) => {
                        Self::Annotation(place(head)?, serde_json::from_str(annotation.get())?)
                    }
                    None => Self::Nothing,
                }
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                let response = object::<WireResponse<'a>>(rest()?.response)?;
                let (id, model) =
                    response.map_or((None, None), |response| (response.id, response.model));
                Self::Began {
                    id: text(id)?,
                    model: text(model)?,
                }
            }
            "response.completed" | "response.incomplete" => {
                let otherwise = kind.strip_prefix("response.").unwrap_or(kind).to_owned();
                Self::Over(Box::new(Outcome::read(rest()?.response, otherwise)?))
            }
            "response.failed" | "response.cancelled" => {
                let otherwise = kind.strip_prefix("response.").unwrap_or(kind).to_owned();
                let outcome = Outcome::read(rest()?.response, otherwise.clone())?;
                let failure = outcome.failure.unwrap_or_else(|| Failure {
                    error: StreamError::new(format!("the response was {otherwise}"), None),
                    stop_reason: outcome.stop_reason.map(Cow::into_owned),
                    usage: outcome.usage,
                });
                Self::Failed(failure)
            }
            "error" => Self::Failed(Failure::read(data.as_bytes())),
            kind if kind.starts_with("response.") => Self::Nothing,
            _ => match StreamError::foreign(data) {
                Some(error) => Self::Failed(error.into()),
                None => Self::Nothing,
            },
        })
    }
}

impl<'a> Outcome<'a> {
    /// Reads a response object; `status` is used if the object has none.
    fn read(raw: Raw<'a>, status: String) -> Result<Self, Error> {
        let Some(response) = object::<WireResponse<'a>>(raw)? else {
            return Ok(Self {
                stop_reason: Some(status.into()),
                ..Self::default()
            });
        };
        let details = object::<WireDetails<'a>>(response.incomplete_details)?;
        let reason = details.map_or(Ok(None), |details| text(details.reason))?;
        let stop_reason = match reason {
            Some(reason) => reason,
            None => text(response.status)?.unwrap_or(status.into()),
        };
        let usage = response.usage.and_then(|usage| read_usage(usage.get()));
        let failure = response.error.map(|error| Failure {
            stop_reason: Some(stop_reason.to_string()),
            usage: usage.clone(),
            ..Failure::read(error.get().as_bytes())
        });
        let mut output = Vec::new();
        for raw in list(response.output)? {
            output.extend(WireItem::read(Some(raw))?);
        }
        Ok(Self {
            model: text(response.model)?,
            stop_reason: Some(stop_reason),
            usage,
            output,
            tools: Tools::read(response.tools)?,
            failure,
        })
    }
}

fn read_usage(usage: &str) -> Option<TokenUsage> {
    usage::read(&serde_json::from_str::<Value>(usage).ok()?)
}

fn piece_kind(name: &str, head: &Head<'_>) -> Result<Option<DeltaKind>, Error> {
    let part = |raw| Ok::<_, Error>(index(raw)?.unwrap_or(0));
    let content = part(head.content_index)?;
    Ok(Some(match name {
        "response.output_text" => DeltaKind::Text(content),
        "response.refusal" => DeltaKind::Refusal(content),
        "response.reasoning_summary_text" => {
            DeltaKind::Thought(Thought::Summary(part(head.summary_index)?))
        }
        "response.reasoning_text" => DeltaKind::Thought(Thought::Content(content)),
        "response.function_call_arguments" => DeltaKind::Arguments,
        "response.custom_tool_call_input" => DeltaKind::Input,
        _ => return Ok(None),
    }))
}

fn piece<'a>(
    head: &Head<'a>,
    kind: DeltaKind,
    raw: Raw<'a>,
    is_whole: bool,
) -> Result<StreamEvent<'a>, Error> {
    let text = match kind {
        DeltaKind::Arguments if is_whole => arguments(raw)?,
        _ => text(raw)?,
    };
    let Some(text) = text else {
        return Ok(StreamEvent::Nothing);
    };
    Ok(StreamEvent::Piece(Piece {
        place: place(head)?,
        kind,
        text,
        is_whole,
        gaps: [
            (Gap::Text, raw),
            (Gap::Passed, head.sequence_number),
            (Gap::Passed, head.obfuscation),
        ],
    }))
}

/// Returns the place of an item. Its id is read only if there is no index, since it is unreliable.
fn place<'a>(head: &Head<'a>) -> Result<ItemRef<'a>, Error> {
    let output_index = index(head.output_index)?;
    let item_id = match output_index {
        Some(_) => None,
        None => text(head.item_id)?,
    };
    Ok(ItemRef {
        output_index,
        item_id,
    })
}
