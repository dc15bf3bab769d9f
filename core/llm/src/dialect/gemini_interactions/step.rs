//! Steps, as the service sends them.

use super::super::lenient::{Raw, list, object, text};
use crate::event::ContentPart;
use serde::{Deserialize, Serialize};
use serde_json::{Error, Map, Value};
use std::borrow::Cow;

/// The data that is sent back with a thought or a call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Signature<'a> {
    #[serde(borrow)]
    pub(super) signature: Cow<'a, str>,
}

/// A step.
#[derive(Debug)]
pub(super) enum WireStep<'a> {
    Thought {
        summary: Vec<WireContent<'a>>,
        signature: Option<Cow<'a, str>>,
    },
    Output {
        content: Vec<WireContent<'a>>,
        error: Option<Value>,
    },
    Call {
        id: Option<Cow<'a, str>>,
        name: Option<Cow<'a, str>>,
        /// The arguments as JSON; `None` if they are absent or empty.
        arguments: Raw<'a>,
        signature: Option<Cow<'a, str>>,
    },
    /// What the client has sent.
    Input,
    /// A step of the provider's own, or of an unknown kind.
    Other(Map<String, Value>),
}

/// A block of content.
#[derive(Debug)]
pub(super) enum WireContent<'a> {
    Text {
        text: Cow<'a, str>,
        /// The JSON of the text in the frame.
        raw: Raw<'a>,
        annotations: Vec<Value>,
    },
    /// Media that the model made, with the content as it came.
    Media(Box<ContentPart>, Value),
    /// Anything else.
    Other(Value),
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    signature: Raw<'a>,
    #[serde(borrow)]
    summary: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

impl<'a> WireStep<'a> {
    /// Reads a step; `None` if it is no object with a type.
    pub(super) fn read(raw: Raw<'a>) -> Result<Option<Self>, Error> {
        let Some((fields, raw)) = object::<Fields<'a>>(raw)?.zip(raw) else {
            return Ok(None);
        };
        Ok(Some(match text(fields.kind)?.as_deref() {
            Some("thought") => Self::Thought {
                summary: contents(fields.summary)?,
                signature: text(fields.signature)?,
            },
            Some("model_output") => Self::Output {
                content: contents(fields.content)?,
                error: fields
                    .error
                    .map(|error| serde_json::from_str(error.get()))
                    .transpose()?,
            },
            Some("function_call") => Self::Call {
                id: text(fields.id)?,
                name: text(fields.name)?,
                arguments: fields
                    .arguments
                    .filter(|raw| raw.get().starts_with('{'))
                    .filter(|raw| raw.get()[1..].trim_ascii_start() != "}"),
                signature: text(fields.signature)?,
            },
            Some("user_input") => Self::Input,
            Some(_) => Self::Other(serde_json::from_str(raw.get())?),
            None => return Ok(None),
        }))
    }

    /// Returns whether the step is one that a request may have brought.
    pub(super) fn is_of_request(&self) -> bool {
        match self {
            Self::Input => true,
            Self::Other(step) => step
                .get("type")
                .is_some_and(|kind| kind == "function_result"),
            _ => false,
        }
    }
}

fn contents<'a>(raw: Raw<'a>) -> Result<Vec<WireContent<'a>>, Error> {
    let mut all = Vec::new();
    for content in list(raw)? {
        all.extend(WireContent::read(Some(content))?);
    }
    Ok(all)
}

#[derive(Deserialize)]
struct ContentFields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    annotations: Raw<'a>,
    #[serde(borrow)]
    data: Raw<'a>,
    #[serde(borrow)]
    mime_type: Raw<'a>,
}

impl<'a> WireContent<'a> {
    /// Reads a block of content, or a delta, which has the same form; `None` if it is no object with a type.
    pub(super) fn read(raw: Raw<'a>) -> Result<Option<Self>, Error> {
        let Some((fields, raw)) = object::<ContentFields<'a>>(raw)?.zip(raw) else {
            return Ok(None);
        };
        let whole = || serde_json::from_str::<Value>(raw.get());
        Ok(Some(match text(fields.kind)?.as_deref() {
            Some("text") => Self::Text {
                text: text(fields.text)?.unwrap_or_default(),
                raw: fields.text,
                annotations: annotations(fields.annotations)?,
            },
            Some(_) => match (text(fields.data)?, text(fields.mime_type)?) {
                (Some(data), Some(media_type)) => {
                    let part = ContentPart::from_base64(&data, &media_type);
                    Self::Media(Box::new(part), whole()?)
                }
                _ => Self::Other(whole()?),
            },
            None => return Ok(None),
        }))
    }
}

/// Reads the annotations of a text.
pub(super) fn annotations(raw: Raw<'_>) -> Result<Vec<Value>, Error> {
    let read = |raw: &serde_json::value::RawValue| serde_json::from_str(raw.get());
    list(raw)?.into_iter().map(read).collect()
}
