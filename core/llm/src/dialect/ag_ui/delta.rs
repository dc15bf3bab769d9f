//! Frames with one delta of text, reasoning or arguments, which are by far the most frequent. They are read without the
//! owned values that translation and enforcement need for other events.

use crate::dialect::lenient::string;
use crate::event::{EventRef, ReasoningMessageContent, TextMessageContent, ToolCallArgs};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A frame with one delta and no other field.
#[derive(Debug)]
pub(super) struct Delta<'a> {
    pub(super) kind: DeltaKind,
    pub(super) id: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
    /// The JSON of the text in the frame.
    pub(super) raw: &'a RawValue,
}

/// The kind of delta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DeltaKind {
    Text,
    Reasoning,
    Arguments,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wire<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a RawValue,
    #[serde(borrow)]
    message_id: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: &'a RawValue,
}

impl<'a> Delta<'a> {
    /// Reads a frame, or returns `None` for any other event.
    pub(super) fn read(frame: &'a [u8]) -> Option<Self> {
        let frame = std::str::from_utf8(frame).ok()?;
        let wire: Wire<'a> = serde_json::from_str(frame).ok()?;
        let text = |raw| string(Some(raw)).ok().flatten();
        let (kind, id, other) = match text(wire.kind)?.as_ref() {
            TextMessageContent::KIND => (DeltaKind::Text, wire.message_id, wire.tool_call_id),
            ReasoningMessageContent::KIND => {
                (DeltaKind::Reasoning, wire.message_id, wire.tool_call_id)
            }
            ToolCallArgs::KIND => (DeltaKind::Arguments, wire.tool_call_id, wire.message_id),
            _ => return None,
        };
        if other.is_some() {
            return None;
        }
        Some(Self {
            kind,
            id: text(id?)?,
            text: text(wire.delta)?,
            raw: wire.delta,
        })
    }
}

impl DeltaKind {
    /// Returns the event of a delta.
    pub(super) fn event<'a>(self, id: &'a str, delta: &'a str) -> EventRef<'a> {
        match self {
            Self::Text => EventRef::TextMessageContent {
                message_id: id,
                delta,
            },
            Self::Reasoning => EventRef::ReasoningMessageContent {
                message_id: id,
                delta,
            },
            Self::Arguments => EventRef::ToolCallArgs {
                tool_call_id: id,
                delta,
            },
        }
    }
}
