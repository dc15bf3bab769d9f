use crate::error::StepwellError;
use crate::json_value::JsonValue;
use stepwell_core::event;

/// A part of what the user says, or of what a tool gives back: text, or media.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContentPart {
    /// The part as AG-UI has it: a JSON object with `type`, and `source` for media.
    pub json: JsonValue,
}

/// What kind of media a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// A film.
    Video,
    /// A document: a PDF file, a text, whatever is none of the others.
    Document,
}

impl From<MediaKind> for event::MediaKind {
    fn from(kind: MediaKind) -> Self {
        match kind {
            MediaKind::Image => Self::Image,
            MediaKind::Audio => Self::Audio,
            MediaKind::Video => Self::Video,
            MediaKind::Document => Self::Document,
        }
    }
}

/// A part of plain text, to stand between others.
#[uniffi::export]
#[must_use]
pub fn text(content: String) -> ContentPart {
    event::ContentPart::from(content).into()
}

/// A file in a provider's store, by the id that it has there. `provider` says whose id it is, so that no other is asked for
/// it, and `media_type` what it is: `image/png` makes it a picture; without it is a document.
// uniffi gives strings away.
#[allow(clippy::needless_pass_by_value)]
#[uniffi::export(default(provider = None, media_type = None))]
pub fn file(
    id: String,
    provider: Option<String>,
    media_type: Option<String>,
) -> Result<ContentPart, StepwellError> {
    let part = event::ContentPart::of_file(id, provider.as_deref(), media_type.as_deref());
    Ok(part?.into())
}

/// Where media are.
#[cfg(feature = "agent")]
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum MediaSource {
    /// In memory.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// In a file.
    Path {
        /// Its path.
        path: String,
    },
    /// Where a text says: an address if it has a scheme, `https://…` or `data:…`, else a path.
    Text {
        /// The text.
        text: String,
    },
}

/// A part of media. Of what type they are is `media_type`, or is found by their first bytes, and where these do not say it by
/// the name. A file is read at once; what is at an address the provider fetches. Refused are a file that is not there or has
/// nothing in it, a type that is not known or is another kind's, and an address that nobody fetches from.
#[cfg(feature = "agent")]
#[uniffi::export(default(media_type = None, name = None))]
pub fn media_part(
    kind: MediaKind,
    source: MediaSource,
    media_type: Option<String>,
    name: Option<String>,
) -> Result<ContentPart, StepwellError> {
    use stepwell_io::media;
    let mut source = match source {
        MediaSource::Bytes { bytes } => media::MediaSource::bytes(bytes),
        MediaSource::Path { path } => media::MediaSource::path(path),
        MediaSource::Text { text } => text.into(),
    };
    if let Some(media_type) = media_type {
        source = source.media_type(media_type);
    }
    if let Some(name) = name {
        source = source.name(name);
    }
    Ok(source.part(kind.into())?.into())
}

impl From<event::ContentPart> for ContentPart {
    fn from(part: event::ContentPart) -> Self {
        Self {
            json: JsonValue::of(&part),
        }
    }
}

impl ContentPart {
    fn into_core(self) -> Result<event::ContentPart, StepwellError> {
        serde_json::from_str(&self.json.into_text()).map_err(|error| {
            let reason = format!("a part is no AG-UI content part: {error}");
            StepwellError::invalid(&reason, "make it with `image`, `document` and the like")
        })
    }
}

/// A text, and parts that come behind it. An empty text is none where there are parts.
pub(crate) fn content(
    text: String,
    parts: Vec<ContentPart>,
) -> Result<event::MessageContent, StepwellError> {
    if parts.is_empty() {
        return Ok(text.into());
    }
    let text = (!text.is_empty()).then(|| Ok(text.into()));
    let parts = parts.into_iter().map(ContentPart::into_core);
    let all: Result<Vec<event::ContentPart>, _> = text.into_iter().chain(parts).collect();
    Ok(all?.into())
}
