//! Attachments of users, in the form of Chat Completions.

use super::super::CacheLifetime;
use super::super::encoding::{as_text, audio_format, data_url, file_name, is_marked};
use crate::event::{ContentPart, MediaPart, Metadata, Source};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A part, perhaps with a mark: the prompt up to here goes into the provider's cache.
///
/// Source: <https://openrouter.ai/docs/features/prompt-caching>.
#[derive(Debug, Serialize)]
pub(super) struct MarkedPart<'a> {
    #[serde(flatten)]
    pub(super) part: Part<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<Value>,
}

/// A mark in the provider's form: an object as it is, anything else as the plain one.
fn mark(mark: &Value) -> Option<Value> {
    match mark {
        Value::Null | Value::Bool(false) => None,
        Value::Object(mark) => Some(Value::Object(mark.clone())),
        _ => Some(prompt_mark(CacheLifetime::FiveMinutes)),
    }
}

/// The mark that the sender put on a message.
pub(super) fn message_mark(metadata: Option<&Metadata>) -> Option<Value> {
    mark(metadata?.get("cacheControl")?)
}

/// The mark that makes the provider keep the prompt for this time.
pub(super) fn prompt_mark(lifetime: CacheLifetime) -> Value {
    match lifetime {
        CacheLifetime::FiveMinutes => json!({"type": "ephemeral"}),
        CacheLifetime::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

impl<'a> MarkedPart<'a> {
    /// `None` for kinds of parts that this version does not know.
    pub(super) fn new(part: &'a ContentPart, marks: bool) -> Option<Self> {
        let metadata = match part {
            ContentPart::Text(part) => &part.metadata,
            ContentPart::Image(part)
            | ContentPart::Audio(part)
            | ContentPart::Video(part)
            | ContentPart::Document(part) => &part.metadata,
        };
        Some(Self {
            part: Part::new(part)?,
            cache_control: is_marked(metadata.as_ref())
                .filter(|_| marks)
                .and_then(mark),
        })
    }
}

/// A part of a user's message.
///
/// Source: <https://platform.openai.com/docs/api-reference/chat/create>, "User message", "Array of content parts".
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    InputAudio { input_audio: InputAudio<'a> },
    File { file: File<'a> },
}

/// Returns whether the format has a part for this content.
pub(super) fn takes(part: &ContentPart) -> bool {
    match part {
        ContentPart::Text(_) => true,
        ContentPart::Image(part) => !matches!(part.source, Source::File { .. }),
        ContentPart::Audio(part) => matches!(part.source, Source::Data { .. }),
        ContentPart::Document(part) => !matches!(part.source, Source::Url { .. }),
        ContentPart::Video(_) => false,
    }
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl<'a> {
    url: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
pub(super) struct InputAudio<'a> {
    data: &'a str,
    format: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum File<'a> {
    Data {
        filename: Cow<'a, str>,
        file_data: String,
    },
    Id {
        file_id: &'a str,
    },
}

impl<'a> Part<'a> {
    /// Returns the part, or a description if the format has no such part. Returns `None` for kinds that this version
    /// does not know.
    pub(super) fn new(part: &'a ContentPart) -> Option<Self> {
        Some(match part {
            ContentPart::Image(MediaPart {
                source: Source::Url { value, .. },
                ..
            }) => Self::ImageUrl {
                image_url: ImageUrl { url: value.into() },
            },
            ContentPart::Image(MediaPart {
                source: Source::Data { value, mime_type },
                ..
            }) => Self::ImageUrl {
                image_url: ImageUrl {
                    url: data_url(mime_type, value).into(),
                },
            },
            ContentPart::Audio(MediaPart {
                source: Source::Data { value, mime_type },
                ..
            }) => Self::InputAudio {
                input_audio: InputAudio {
                    data: value,
                    format: audio_format(mime_type),
                },
            },
            ContentPart::Document(
                part @ MediaPart {
                    source: Source::Data { value, mime_type },
                    ..
                },
            ) => Self::File {
                file: File::Data {
                    filename: file_name(part, mime_type),
                    file_data: data_url(mime_type, value),
                },
            },
            ContentPart::Document(MediaPart {
                source: Source::File { value, .. },
                ..
            }) => Self::File {
                file: File::Id { file_id: value },
            },
            other => Self::Text {
                text: as_text(other)?,
            },
        })
    }
}
