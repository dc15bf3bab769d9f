use crate::event::{ContentPart, MediaPart, Source, extension_of};
use serde_json::Value;
use std::borrow::Cow;

/// Describes a part where only text is allowed: an address still helps the model, bytes do not.
pub(crate) fn as_text(part: &ContentPart) -> Option<Cow<'_, str>> {
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

/// Returns a `data` URL for bytes.
pub(in super::super) fn data_url(mime_type: &str, base64: &str) -> String {
    format!("data:{mime_type};base64,{base64}")
}

/// The short name for a sound's media type: `wav`, `mp3`, or the subtype as it is.
pub(in super::super) fn audio_format(mime_type: &str) -> &str {
    let subtype = mime_type
        .split_once('/')
        .map_or(mime_type, |(_, name)| name);
    match subtype.split(';').next().unwrap_or(subtype).trim() {
        "mpeg" | "mpeg3" | "x-mpeg-3" => "mp3",
        "x-wav" | "wave" | "vnd.wave" => "wav",
        other => other,
    }
}

/// Returns the sender's name of a file, if its metadata has one.
pub(in super::super) fn given_name(part: &MediaPart) -> Option<&str> {
    let metadata = part.metadata.as_ref()?;
    let name = metadata.get("filename").or_else(|| metadata.get("name"))?;
    name.as_str().filter(|name| !name.is_empty())
}

/// A file's name: the sender's, or one with the extension of its media type, by which providers tell files apart.
pub(in super::super) fn file_name<'a>(part: &'a MediaPart, mime_type: &str) -> Cow<'a, str> {
    if let Some(name) = given_name(part) {
        return name.into();
    }
    match extension_of(mime_type) {
        Some(extension) => format!("document.{extension}").into(),
        None => "document".into(),
    }
}

/// The mark for the provider's prompt cache that the sender attached to a message or a part of one, if any.
pub(in super::super) fn is_marked(metadata: Option<&Value>) -> Option<&Value> {
    metadata?.get("cacheControl").filter(|mark| !mark.is_null())
}
