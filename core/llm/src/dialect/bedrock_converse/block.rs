//! The content blocks of a request.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A content block.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Block<'a> {
    Text(Cow<'a, str>),
    Image {
        format: &'static str,
        source: MediaSource<'a>,
    },
    Video {
        format: &'static str,
        source: MediaSource<'a>,
    },
    Document {
        format: &'static str,
        name: String,
        source: MediaSource<'a>,
    },
    ReasoningContent(Reasoning<'a>),
    #[serde(rename_all = "camelCase")]
    ToolUse {
        tool_use_id: &'a str,
        name: &'a str,
        input: Input<'a>,
    },
    #[serde(rename_all = "camelCase")]
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Self>,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
    },
}

/// The model's reasoning.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Reasoning<'a> {
    ReasoningText { text: &'a str, signature: String },
    RedactedContent(String),
}

/// The source of an image, a video or a document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum MediaSource<'a> {
    /// Base64.
    Bytes(&'a str),
    S3Location {
        uri: &'a str,
    },
}

/// The arguments of a call: the model's own text where it is an object.
#[derive(Debug)]
pub(super) struct Input<'a>(pub(super) Cow<'a, str>);

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(self.0.trim()) {
            Ok(raw) => raw.serialize(serializer),
            Err(_) => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

impl<'a> Block<'a> {
    /// Text, unless there is nothing to read: such a block is refused.
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Option<Self> {
        let text = text.into();
        (!text.trim().is_empty()).then_some(Self::Text(text))
    }

    /// Returns whether a cache point may come after the block.
    pub(super) fn takes_mark(&self) -> bool {
        !self.is_reasoning()
    }

    pub(super) fn is_reasoning(&self) -> bool {
        matches!(self, Self::ReasoningContent(_))
    }

    pub(super) fn is_result(&self) -> bool {
        matches!(self, Self::ToolResult { .. })
    }
}
