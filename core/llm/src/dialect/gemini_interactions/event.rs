//! Frames, read with serde into typed views.
//!
//! Reading is strict about JSON and lenient about types: a field of the wrong type counts as absent, and an event of an
//! unknown type is ignored. A frame is read completely before any event is emitted.

use super::super::error::StreamError;
use super::super::lenient::{Raw, index, list, object, text};
use super::super::template::Gap;
use super::step::{WireContent, WireStep, annotations};
use super::usage;
use crate::event::TokenUsage;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Error, Map, Value};
use std::borrow::Cow;

/// The content of a frame.
#[derive(Debug)]
pub(super) enum StreamEvent<'a> {
    /// The frame has nothing that is used.
    Nothing,
    /// The interaction begins, or reports its status.
    Status(Status<'a>),
    /// A step starts.
    Start(Option<u64>, WireStep<'a>),
    /// A delta of a step.
    Delta(Delta<'a>),
    /// A step stops.
    Stop(Option<u64>, Option<TokenUsage>),
    /// The interaction is over.
    Over(Box<Outcome<'a>>),
    /// The provider failed.
    Failed(StreamError),
}

/// What is known of the interaction so far.
#[derive(Debug, Default)]
pub(super) struct Status<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) status: Option<Cow<'a, str>>,
    pub(super) usage: Option<TokenUsage>,
}

/// The interaction in the last event, or as it is stored.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) status: Status<'a>,
    /// The steps that the model and its tools have made.
    pub(super) steps: Vec<WireStep<'a>>,
    /// The failure that the interaction reports.
    pub(super) error: Option<StreamError>,
}

/// A delta of a step.
#[derive(Debug)]
pub(super) struct Delta<'a> {
    pub(super) index: Option<u64>,
    pub(super) content: DeltaContent<'a>,
    pub(super) usage: Option<TokenUsage>,
    /// The id of the event, which differs in the next one.
    pub(super) event_id: Raw<'a>,
}

#[derive(Debug)]
pub(super) enum DeltaContent<'a> {
    Piece(DeltaKind, Cow<'a, str>, Raw<'a>),
    Signature(Cow<'a, str>),
    Annotations(Vec<Value>),
    /// Content of an output that is no text.
    Content(WireContent<'a>),
    /// Content of a summary that is no text.
    Summary(Value),
    /// More of a step of the provider's own.
    Other(Map<String, Value>),
}

/// The values of a frame that may differ in another one.
type Gaps<'a> = [(Gap, Raw<'a>); 2];

/// The kinds of deltas with text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DeltaKind {
    Text,
    Summary,
    Arguments,
}

impl<'a> Delta<'a> {
    /// Returns the delta's kind and index, with the values in the frame that may differ in another one, if it has only
    /// text.
    pub(super) fn piece(&self) -> Option<((DeltaKind, u64), Gaps<'a>)> {
        let DeltaContent::Piece(kind, _, raw) = &self.content else {
            return None;
        };
        let index = self.index.filter(|_| self.usage.is_none())?;
        Some((
            (*kind, index),
            [(Gap::Text, *raw), (Gap::Passed, self.event_id)],
        ))
    }
}

/// The fields that deltas have.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    event_type: Raw<'a>,
    #[serde(borrow)]
    index: Raw<'a>,
    #[serde(borrow)]
    delta: Raw<'a>,
    #[serde(borrow)]
    event_id: Raw<'a>,
    #[serde(borrow)]
    metadata: Raw<'a>,
}

/// The fields that the other events have.
#[derive(Deserialize)]
struct Rest<'a> {
    #[serde(borrow)]
    step: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    interaction: Raw<'a>,
    #[serde(borrow)]
    interaction_id: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
}

#[derive(Deserialize)]
struct WireInteraction<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    steps: Raw<'a>,
    #[serde(borrow)]
    errors: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

#[derive(Deserialize)]
struct WireDelta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    signature: Raw<'a>,
    #[serde(borrow)]
    annotations: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
}

#[derive(Deserialize)]
struct WireMetadata<'a> {
    #[serde(borrow)]
    total_usage: Raw<'a>,
}

impl<'a> StreamEvent<'a> {
    /// Reads a frame; `name` is that of the server-sent event, for data without a type.
    pub(super) fn read(data: &'a str, name: &str) -> Result<Self, Error> {
        if !data.starts_with('{') {
            return serde_json::from_str::<IgnoredAny>(data).map(|_| Self::Nothing);
        }
        let head: Head<'a> = serde_json::from_str(data)?;
        let own_kind = text(head.event_type)?;
        let kind = own_kind.as_deref().unwrap_or(name);
        if kind == "step.delta" {
            return delta(&head);
        }
        let rest = || serde_json::from_str::<Rest<'a>>(data);
        Ok(match kind {
            "step.start" => match WireStep::read(rest()?.step)? {
                Some(step) => Self::Start(index(head.index)?, step),
                None => Self::Nothing,
            },
            "step.stop" => Self::Stop(index(head.index)?, count(rest()?.usage)),
            "interaction.created" | "interaction.in_progress" => {
                Self::Status(match object::<WireInteraction<'a>>(rest()?.interaction)? {
                    Some(interaction) => interaction.status()?,
                    None => Status::default(),
                })
            }
            "interaction.status_update" => {
                let rest = rest()?;
                Self::Status(Status {
                    id: text(rest.interaction_id)?,
                    model: None,
                    status: text(rest.status)?,
                    usage: count(rest.usage),
                })
            }
            "interaction.completed" => Self::Over(Box::new(Outcome::read(rest()?.interaction)?)),
            "error" => Self::Failed(StreamError::read(data.as_bytes())),
            kind if kind.starts_with("interaction.") || kind.starts_with("step.") => Self::Nothing,
            _ => match StreamError::foreign(data) {
                Some(error) => Self::Failed(error),
                None => Self::Nothing,
            },
        })
    }
}

fn count(raw: Raw<'_>) -> Option<TokenUsage> {
    usage::read(raw?.get())
}

fn delta<'a>(head: &Head<'a>) -> Result<StreamEvent<'a>, Error> {
    let Some((delta, raw)) = object::<WireDelta<'a>>(head.delta)?.zip(head.delta) else {
        return Ok(StreamEvent::Nothing);
    };
    let piece = |kind, raw: Raw<'a>| {
        let text = text(raw)?;
        Ok::<_, Error>(text.map(|text| DeltaContent::Piece(kind, text, raw)))
    };
    let content = match text(delta.kind)?.as_deref() {
        Some("text") => piece(DeltaKind::Text, delta.text)?,
        Some("arguments_delta") => piece(DeltaKind::Arguments, delta.arguments)?,
        Some("thought_summary") => match WireContent::read(delta.content)? {
            Some(WireContent::Text { text, raw, .. }) if !text.is_empty() => {
                Some(DeltaContent::Piece(DeltaKind::Summary, text, raw))
            }
            Some(WireContent::Media(_, content) | WireContent::Other(content)) => {
                Some(DeltaContent::Summary(content))
            }
            _ => None,
        },
        Some("thought_signature") => text(delta.signature)?.map(DeltaContent::Signature),
        Some("text_annotation_delta") => {
            Some(DeltaContent::Annotations(annotations(delta.annotations)?))
        }
        Some("image" | "audio" | "video" | "document") => {
            WireContent::read(Some(raw))?.map(DeltaContent::Content)
        }
        Some(_) => Some(DeltaContent::Other(serde_json::from_str(raw.get())?)),
        None => None,
    };
    let metadata = object::<WireMetadata<'a>>(head.metadata)?;
    let usage = metadata.and_then(|metadata| count(metadata.total_usage));
    Ok(match content {
        Some(content) => StreamEvent::Delta(Delta {
            index: index(head.index)?,
            content,
            usage,
            event_id: head.event_id,
        }),
        None => StreamEvent::Nothing,
    })
}

impl<'a> WireInteraction<'a> {
    fn status(&self) -> Result<Status<'a>, Error> {
        Ok(Status {
            id: text(self.id)?,
            model: text(self.model)?,
            status: text(self.status)?,
            usage: count(self.usage),
        })
    }
}

impl<'a> Outcome<'a> {
    fn read(raw: Raw<'a>) -> Result<Self, Error> {
        let Some(interaction) = object::<WireInteraction<'a>>(raw)? else {
            return Ok(Self {
                status: Status::default(),
                steps: Vec::new(),
                error: None,
            });
        };
        let mut steps = Vec::new();
        for step in list(interaction.steps)? {
            let step = WireStep::read(Some(step))?;
            // A stored interaction may begin with the request's steps.
            match step {
                Some(step) if step.is_of_request() => steps.clear(),
                step => steps.extend(step),
            }
        }
        let error = list(interaction.errors)?
            .first()
            .copied()
            .or(interaction.error);
        Ok(Self {
            status: interaction.status()?,
            steps,
            error: error.map(|error| StreamError::read(error.get().as_bytes())),
        })
    }
}
