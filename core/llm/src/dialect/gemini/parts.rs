//! The parts of contents.

use super::super::encoding::as_text;
use crate::event::{ContentPart, MediaPart, MessageContent, Source};
use crate::provider::Endpoint;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The consecutive parts of one role.
#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: &'static str,
    pub(super) parts: Vec<Part<'a>>,
}

/// Source: <https://ai.google.dev/api/caching#Part>. Fields are borrowed where possible, because attachments can be
/// large.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_data: Option<FileData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<Cow<'a, str>>,
    /// A part of the model that is sent back unchanged.
    #[serde(flatten)]
    pub(super) kept: Map<String, Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    file_uri: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: &'a str,
    pub(super) args: Box<RawValue>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: &'a str,
    pub(super) response: Box<RawValue>,
    /// The media of the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Part<'a>>,
}

impl<'a> Part<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Bytes in the request itself.
    fn inline(part: &'a ContentPart) -> Option<Self> {
        match media(part)?.source {
            Source::Data {
                ref value,
                ref mime_type,
            } => Some(Self {
                inline_data: Some(InlineData {
                    mime_type,
                    data: value,
                }),
                ..Self::default()
            }),
            _ => None,
        }
    }

    /// A part of a function's response: bytes of a picture, or of a document of these types.
    ///
    /// Source: <https://ai.google.dev/gemini-api/docs/function-calling>, "Multimodal function responses".
    pub(super) fn of_response(part: &'a ContentPart) -> Option<Self> {
        let Source::Data { mime_type, .. } = &media(part)?.source else {
            return None;
        };
        let is_taken = matches!(
            mime_type.as_str(),
            "image/png" | "image/jpeg" | "image/webp" | "application/pdf" | "text/plain"
        );
        Self::inline(part).filter(|_| is_taken)
    }

    /// Returns the part, or a text description if Gemini has no such part; `None` for empty text.
    fn new(part: &'a ContentPart, endpoint: &Endpoint) -> Option<Self> {
        let file = |file_uri: Cow<'a, str>, mime_type: &'a Option<String>| Self {
            file_data: Some(FileData {
                mime_type: mime_type.as_deref(),
                file_uri,
            }),
            ..Self::default()
        };
        match media(part).map(|media| &media.source) {
            Some(Source::Data { .. }) => Self::inline(part),
            Some(Source::Url { value, mime_type }) => Some(file(value.into(), mime_type)),
            Some(Source::File {
                value,
                provider,
                mime_type,
            }) if provider
                .as_ref()
                .is_none_or(|provider| *provider == endpoint.provider) =>
            {
                // Files are named by their address.
                let uri = if value.starts_with("files/") {
                    format!("{}/{value}", endpoint.base_url.trim_end_matches('/')).into()
                } else {
                    value.into()
                };
                Some(file(uri, mime_type))
            }
            _ => as_text(part)
                .filter(|text| !text.is_empty())
                .map(Self::text),
        }
    }
}

/// Returns the parts of a user's message, without empty texts, which the API refuses.
pub(super) fn said<'a>(content: &'a MessageContent, endpoint: &Endpoint) -> Vec<Part<'a>> {
    match content {
        MessageContent::Text(text) if text.is_empty() => Vec::new(),
        MessageContent::Text(text) => vec![Part::text(text)],
        MessageContent::Parts(parts) => parts
            .iter()
            .filter_map(|part| Part::new(part, endpoint))
            .collect(),
    }
}

fn media(part: &ContentPart) -> Option<&MediaPart> {
    match part {
        ContentPart::Text(_) => None,
        ContentPart::Image(part)
        | ContentPart::Audio(part)
        | ContentPart::Video(part)
        | ContentPart::Document(part) => Some(part),
    }
}
