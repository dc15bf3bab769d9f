//! An output item as the wire has it.

use super::super::lenient::{Raw, arguments, list, object, text};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Error, Value};
use std::borrow::Cow;

/// An output item: new, or complete.
#[derive(Debug)]
pub(super) struct WireItem<'a> {
    /// The original JSON.
    pub(super) raw: &'a RawValue,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) content: ItemContent<'a>,
}

/// The content of an item.
#[derive(Debug)]
pub(super) enum ItemContent<'a> {
    Message {
        phase: Option<Cow<'a, str>>,
        parts: Vec<MessagePart<'a>>,
    },
    Reasoning {
        summary: Vec<Cow<'a, str>>,
        content: Vec<Cow<'a, str>>,
    },
    Call {
        /// Whether its input is free text.
        is_custom: bool,
        call_id: Option<Cow<'a, str>>,
        name: Option<Cow<'a, str>>,
        text: Option<Cow<'a, str>>,
    },
    Other {
        item: Value,
        /// Whether the item is sent back with the next request. One with a call id waits for an answer that only the
        /// app has, and one that was cut off would be refused.
        goes_back: bool,
    },
}

/// A part of a message.
#[derive(Debug, Default)]
pub(super) struct MessagePart<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) refusal: Option<Cow<'a, str>>,
    pub(super) annotations: Vec<Value>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    phase: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    summary: Raw<'a>,
    #[serde(borrow)]
    call_id: Raw<'a>,
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
}

impl Fields<'_> {
    /// Returns whether a custom tool's call is one that the provider runs itself, as xAI marks those of its search on
    /// X.
    fn is_own_call(&self) -> Result<bool, Error> {
        Ok([self.call_id, self.id]
            .into_iter()
            .any(|id| matches!(text(id), Ok(Some(id)) if id.starts_with("xs_call") || id.contains("_xs_call"))))
    }

    /// Returns whether an item of this kind that the provider ran is done. A picture that is there says at times that
    /// it is not.
    fn is_finished(&self, kind: &str) -> Result<bool, Error> {
        if kind == "image_generation_call" {
            return Ok(text(self.result)?.is_some());
        }
        let status = text(self.status)?.unwrap_or_default();
        let is_going_on = matches!(
            status.as_ref(),
            "in_progress" | "searching" | "interpreting" | "calling"
        );
        Ok(!is_going_on)
    }
}

#[derive(Deserialize)]
struct WirePart<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    refusal: Raw<'a>,
    #[serde(borrow)]
    annotations: Raw<'a>,
}

impl<'a> WireItem<'a> {
    /// Reads an item; `None` if it is not an item, or has no known type.
    pub(super) fn read(raw: Raw<'a>) -> Result<Option<Self>, Error> {
        let (Some(raw), Some(fields)) = (raw, object::<Fields<'a>>(raw)?) else {
            return Ok(None);
        };
        let Some(kind) = text(fields.kind)? else {
            return Ok(None);
        };
        let content = match kind.as_ref() {
            "message" => {
                let mut parts = Vec::new();
                for part in list(fields.content)? {
                    parts.push(MessagePart::read(part)?);
                }
                ItemContent::Message {
                    phase: text(fields.phase)?,
                    parts,
                }
            }
            "reasoning" => ItemContent::Reasoning {
                summary: texts(fields.summary)?,
                content: texts(fields.content)?,
            },
            "function_call" => ItemContent::Call {
                is_custom: false,
                call_id: text(fields.call_id)?,
                name: text(fields.name)?,
                text: arguments(fields.arguments)?,
            },
            "custom_tool_call" if !fields.is_own_call()? => ItemContent::Call {
                is_custom: true,
                call_id: text(fields.call_id)?,
                name: text(fields.name)?,
                text: text(fields.input)?,
            },
            kind => ItemContent::Other {
                item: serde_json::from_str(raw.get())?,
                goes_back: text(fields.call_id)?.is_none()
                    && kind != "mcp_approval_request"
                    && fields.is_finished(kind)?,
            },
        };
        Ok(Some(Self {
            raw,
            id: text(fields.id)?,
            content,
        }))
    }
}

impl<'a> MessagePart<'a> {
    fn read(raw: &'a RawValue) -> Result<Self, Error> {
        let Some(part) = object::<WirePart<'a>>(Some(raw))? else {
            return Ok(Self::default());
        };
        let mut annotations = Vec::new();
        for annotation in list(part.annotations)? {
            annotations.push(serde_json::from_str(annotation.get())?);
        }
        Ok(Self {
            text: text(part.text)?,
            refusal: text(part.refusal)?,
            annotations,
        })
    }
}

/// The texts of an array of parts, each at its place.
fn texts(raw: Raw<'_>) -> Result<Vec<Cow<'_, str>>, Error> {
    let mut texts = Vec::new();
    for part in list(raw)? {
        let part = object::<WirePart<'_>>(Some(part))?;
        let text = part.map_or(Ok(None), |part| text(part.text))?;
        texts.push(text.unwrap_or_default());
    }
    Ok(texts)
}
