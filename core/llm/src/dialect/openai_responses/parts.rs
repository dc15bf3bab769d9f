//! Attachments of users and tool results, in the form of Responses.

use super::super::encoding::{as_text, audio_format, data_url, file_name};
use crate::event::{ContentPart, MediaPart, Source};
use serde::Serialize;
use std::borrow::Cow;

/// One part of a message's content or of a tool's output.
///
/// Source: <https://platform.openai.com/docs/api-reference/responses/create>, "input".
#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(super) enum Part<'a> {
    #[serde(rename = "input_text")]
    Text { text: Cow<'a, str> },
    #[serde(rename = "input_image")]
    Image {
        /// The detail of an image: the service decides.
        detail: &'static str,
        #[serde(flatten)]
        image: Image<'a>,
    },
    #[serde(rename = "input_audio")]
    Audio { input_audio: Audio<'a> },
    #[serde(rename = "input_file")]
    File(File<'a>),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Image<'a> {
    Url { image_url: Cow<'a, str> },
    Id { file_id: &'a str },
}

#[derive(Debug, Serialize)]
pub(super) struct Audio<'a> {
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
    Url {
        file_url: &'a str,
    },
    Id {
        file_id: &'a str,
    },
}

impl<'a> Part<'a> {
    /// Returns the part, or a description if the format has no such part. Returns `None` for kinds that this version
    /// does not know.
    pub(super) fn new(part: &'a ContentPart) -> Option<Self> {
        let media = match part {
            ContentPart::Image(part) => Self::image(part),
            ContentPart::Document(part) => Self::file(part),
            ContentPart::Audio(MediaPart {
                source: Source::Data { value, mime_type },
                ..
            }) => Self::Audio {
                input_audio: Audio {
                    data: value,
                    format: audio_format(mime_type),
                },
            },
            other => Self::Text {
                text: as_text(other)?,
            },
        };
        Some(media)
    }

    /// Returns whether the format has a part for this content.
    pub(super) fn takes(part: &ContentPart) -> bool {
        match part {
            ContentPart::Text(_) | ContentPart::Image(_) | ContentPart::Document(_) => true,
            ContentPart::Audio(part) => matches!(part.source, Source::Data { .. }),
            ContentPart::Video(_) => false,
        }
    }

    fn image(part: &'a MediaPart) -> Self {
        let image = match &part.source {
            Source::Url { value, .. } => Image::Url {
                image_url: value.into(),
            },
            Source::Data { value, mime_type } => Image::Url {
                image_url: data_url(mime_type, value).into(),
            },
            Source::File { value, .. } => Image::Id { file_id: value },
        };
        Self::Image {
            detail: "auto",
            image,
        }
    }

    fn file(part: &'a MediaPart) -> Self {
        Self::File(match &part.source {
            Source::Url { value, .. } => File::Url { file_url: value },
            Source::Data { value, mime_type } => File::Data {
                filename: file_name(part, mime_type),
                file_data: data_url(mime_type, value),
            },
            Source::File { value, .. } => File::Id { file_id: value },
        })
    }

    /// Returns whether a tool's output can only hold it as a part: it is not text, and output does not accept audio.
    pub(super) fn is_media_of_output(part: &ContentPart) -> bool {
        matches!(part, ContentPart::Image(_) | ContentPart::Document(_))
    }
}
