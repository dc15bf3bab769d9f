//! Attachments of users and tool results, in the form of Converse.

use super::super::encoding::as_text;
use super::block::{Block, MediaSource};
use crate::event::{ContentPart, MediaPart, Source};

/// Returns the part as a block, or a description if the format has no block for it. Returns `None` for an empty part.
/// `documents` counts the documents of the request: two of one name are refused. A name is neutral, because the model
/// may take the sender's for an instruction.
pub(super) fn block<'a>(part: &'a ContentPart, documents: &mut usize) -> Option<Block<'a>> {
    match Kind::of(part) {
        Some((Kind::Image, format, source)) => Some(Block::Image { format, source }),
        Some((Kind::Video, format, source)) => Some(Block::Video { format, source }),
        Some((Kind::Document, format, source)) => {
            *documents += 1;
            Some(Block::Document {
                format,
                name: format!("document {documents}"),
                source,
            })
        }
        None => Block::text(as_text(part)?),
    }
}

/// Returns whether the format has a block for this content.
pub(super) fn takes(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Text(_)) || Kind::of(part).is_some()
}

enum Kind {
    Image,
    Video,
    Document,
}

impl Kind {
    /// Returns the kind, the format and the source of media that the format has a block for: bytes, or an object in S3.
    fn of(part: &ContentPart) -> Option<(Self, &'static str, MediaSource<'_>)> {
        let (kind, media, format): (_, &MediaPart, fn(&str) -> Option<&'static str>) = match part {
            ContentPart::Image(media) => (Self::Image, media, image),
            ContentPart::Video(media) => (Self::Video, media, video),
            ContentPart::Document(media) => (Self::Document, media, document),
            ContentPart::Text(_) | ContentPart::Audio(_) => return None,
        };
        match &media.source {
            Source::Data { value, mime_type } => {
                Some((kind, format(mime_type)?, MediaSource::Bytes(value)))
            }
            Source::Url { value, mime_type } if value.starts_with("s3://") => {
                let format = format(mime_type.as_deref()?)?;
                Some((kind, format, MediaSource::S3Location { uri: value }))
            }
            Source::Url { .. } | Source::File { .. } => None,
        }
    }
}

/// Returns the media type without its parameters, in lower case.
fn essence(mime_type: &str) -> String {
    let essence = mime_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

fn image(mime_type: &str) -> Option<&'static str> {
    Some(match essence(mime_type).as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpeg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => return None,
    })
}

fn video(mime_type: &str) -> Option<&'static str> {
    Some(match essence(mime_type).as_str() {
        "video/mp4" => "mp4",
        "video/quicktime" => "mov",
        "video/webm" => "webm",
        "video/x-matroska" => "mkv",
        "video/x-flv" => "flv",
        "video/mpeg" => "mpeg",
        "video/x-ms-wmv" => "wmv",
        "video/3gpp" => "three_gp",
        _ => return None,
    })
}

fn document(mime_type: &str) -> Option<&'static str> {
    Some(match essence(mime_type).as_str() {
        "application/pdf" => "pdf",
        "text/csv" => "csv",
        "application/msword" => "doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "docx",
        "application/vnd.ms-excel" => "xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "xlsx",
        "text/html" => "html",
        "text/plain" => "txt",
        "text/markdown" => "md",
        _ => return None,
    })
}
