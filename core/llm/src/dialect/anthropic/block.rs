//! The content blocks of a request.

use super::cache::Mark;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A content block.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        citations: Vec<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Image {
        source: MediaSource<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Document {
        source: MediaSource<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Thinking {
        thinking: &'a str,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Input<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        caller: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Self>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    /// A block for the provider only, unchanged.
    #[serde(untagged)]
    Kept(Value),
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
    pub(super) fn text(text: impl Into<Cow<'a, str>>, cache_control: Option<Mark>) -> Option<Self> {
        let text = text.into();
        (!text.trim().is_empty()).then_some(Self::Text {
            text,
            citations: Vec::new(),
            cache_control,
        })
    }

    /// Returns the place for a cache mark, which neither thinking nor an unchanged block has.
    pub(super) fn mark(&mut self) -> Option<&mut Option<Mark>> {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::Document { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => Some(cache_control),
            Self::Thinking { .. } | Self::RedactedThinking { .. } | Self::Kept(_) => None,
        }
    }

    /// All places where marks may be, in the order of the request: a result's parts have their own.
    pub(super) fn marks(&mut self) -> Vec<&mut Option<Mark>> {
        match self {
            Self::ToolResult {
                content,
                cache_control,
                ..
            } => {
                let parts = content.iter_mut().filter_map(Self::mark);
                parts.chain([cache_control]).collect()
            }
            other => other.mark().into_iter().collect(),
        }
    }

    pub(super) fn is_result(&self) -> bool {
        matches!(self, Self::ToolResult { .. })
    }

    /// Returns whether another model takes over here from one that declined.
    pub(super) fn is_fallback(&self) -> bool {
        matches!(self, Self::Kept(block) if block["type"] == "fallback")
    }

    pub(super) fn is_thinking(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }
}

/// The source of an image or document.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum MediaSource<'a> {
    Base64 {
        media_type: &'a str,
        data: &'a str,
    },
    Url {
        url: &'a str,
    },
    File {
        file_id: &'a str,
    },
    Text {
        media_type: &'static str,
        data: String,
    },
}

/// Returns whether a block names a file of the provider's store.
pub(super) fn is_file(block: &Block<'_>) -> bool {
    match block {
        Block::Image { source, .. } | Block::Document { source, .. } => {
            matches!(source, MediaSource::File { .. })
        }
        Block::ToolResult { content, .. } => content.iter().any(is_file),
        _ => false,
    }
}
