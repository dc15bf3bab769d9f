//! The content of steps in a request.

use super::super::encoding::as_text;
use crate::event::{ContentPart, MediaPart, MessageContent, Source};
use crate::provider::Endpoint;
use serde::Serialize;
use std::borrow::Cow;

/// A block of content. Everything is borrowed where possible: attachments are large.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content<'a> {
    Text { text: Cow<'a, str> },
    Image(Media<'a>),
    Audio(Media<'a>),
    Video(Media<'a>),
    Document(Media<'a>),
}

/// Media, as bytes or by its address.
#[derive(Debug, Serialize)]
pub(super) struct Media<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
}

impl<'a> Content<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the part, or a text description if the format has no such part; `None` for empty text.
    fn new(part: &'a ContentPart, endpoint: &Endpoint) -> Option<Self> {
        let media = media(part).and_then(|(media, of)| Some(of(Media::new(media, endpoint)?)));
        media.or_else(|| {
            let text = as_text(part).filter(|text| !text.is_empty())?;
            Some(Self::Text { text })
        })
    }

    /// A part of a tool's result: bytes of a picture, or of a document of these types, as the model's other API takes
    /// them.
    pub(super) fn of_result(part: &'a ContentPart) -> Option<Self> {
        let (media, of) = media(part)?;
        let Source::Data { value, mime_type } = &media.source else {
            return None;
        };
        let is_taken = matches!(
            mime_type.as_str(),
            "image/png" | "image/jpeg" | "image/webp" | "application/pdf" | "text/plain"
        );
        is_taken.then(|| of(Media::of_data(value, mime_type)))
    }
}

impl<'a> Media<'a> {
    fn of_data(data: &'a str, mime_type: &'a str) -> Self {
        Self {
            data: Some(data),
            uri: None,
            mime_type: Some(mime_type),
        }
    }

    fn of_uri(uri: Cow<'a, str>, mime_type: Option<&'a str>) -> Self {
        Self {
            data: None,
            uri: Some(uri),
            mime_type,
        }
    }

    /// `None` for a file of another provider.
    fn new(media: &'a MediaPart, endpoint: &Endpoint) -> Option<Self> {
        match &media.source {
            Source::Data { value, mime_type } => Some(Self::of_data(value, mime_type)),
            Source::Url { value, mime_type } => {
                Some(Self::of_uri(value.into(), mime_type.as_deref()))
            }
            Source::File {
                value,
                provider,
                mime_type,
            } => {
                let is_own = provider
                    .as_ref()
                    .is_none_or(|provider| *provider == endpoint.provider);
                // Files are named by their address.
                let uri = match value.starts_with("files/") {
                    true => format!("{}/{value}", endpoint.base_url.trim_end_matches('/')).into(),
                    false => value.into(),
                };
                is_own.then(|| Self::of_uri(uri, mime_type.as_deref()))
            }
        }
    }
}

/// Returns the content of a user's message, without empty texts.
pub(super) fn said<'a>(content: &'a MessageContent, endpoint: &Endpoint) -> Vec<Content<'a>> {
    match content {
        MessageContent::Text(text) if text.is_empty() => Vec::new(),
        MessageContent::Text(text) => vec![Content::text(text)],
        MessageContent::Parts(parts) => parts
            .iter()
            .filter_map(|part| Content::new(part, endpoint))
            .collect(),
    }
}

/// Makes a block of content of media.
type OfMedia<'a> = fn(Media<'a>) -> Content<'a>;

fn media(part: &ContentPart) -> Option<(&MediaPart, OfMedia<'_>)> {
    Some(match part {
        ContentPart::Text(_) => return None,
        ContentPart::Image(part) => (part, Content::Image),
        ContentPart::Audio(part) => (part, Content::Audio),
        ContentPart::Video(part) => (part, Content::Video),
        ContentPart::Document(part) => (part, Content::Document),
    })
}
