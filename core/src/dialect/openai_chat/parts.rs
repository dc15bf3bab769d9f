//! What a person attaches, as Chat Completions has it.

use crate::event::{ContentPart, MediaPart, Source};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// One part of a user's message.
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
        filename: &'a str,
        file_data: String,
    },
    Id {
        file_id: &'a str,
    },
}

impl<'a> Part<'a> {
    /// The part, or in words what the format has no part for. `None` for kinds that this version does not know.
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
                    filename: file_name(part),
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

/// A part in words, for where only text may stand: an address still helps the model, bytes do not.
pub(super) fn as_text(part: &ContentPart) -> Option<Cow<'_, str>> {
    let (kind, part) = match part {
        ContentPart::Text(part) => return Some(Cow::Borrowed(&part.text)),
        ContentPart::Image(part) => ("image", part),
        ContentPart::Audio(part) => ("audio", part),
        ContentPart::Video(part) => ("video", part),
        ContentPart::Document(part) => ("document", part),
    };
    Some(Cow::Owned(match &part.source {
        Source::Url { value, .. } => format!("[{kind}: {value}]"),
        Source::Data { .. } | Source::File { .. } => {
            format!("[{kind}, which cannot be shown here]")
        }
    }))
}

fn data_url(mime_type: &str, base64: &str) -> String {
    format!("data:{mime_type};base64,{base64}")
}

/// The format's short name for a sound's media type: `wav`, `mp3`, or the subtype as it is.
fn audio_format(mime_type: &str) -> &str {
    let subtype = mime_type
        .split_once('/')
        .map_or(mime_type, |(_, name)| name);
    match subtype.split(';').next().unwrap_or(subtype).trim() {
        "mpeg" | "mpeg3" | "x-mpeg-3" => "mp3",
        "x-wav" | "wave" | "vnd.wave" => "wav",
        other => other,
    }
}

/// A file must have a name: the sender's, if its metadata has one.
fn file_name(part: &MediaPart) -> &str {
    part.metadata
        .as_ref()
        .and_then(|metadata| metadata.get("filename"))
        .and_then(Value::as_str)
        .unwrap_or("document")
}
