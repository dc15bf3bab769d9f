use crate::error::StepwellError;
use crate::json_value::JsonValue;
use stepwell_core::event;

/// A part of a user's message, or of a tool's result: text, or media.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContentPart {
    /// The part as AG-UI has it: a JSON object with `type`, and `source` for media.
    pub json: JsonValue,
}

/// The kind of media of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// A video.
    Video,
    /// A document: a PDF file, a text, or any other type.
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

/// Creates a part of plain text, to go between others.
#[uniffi::export]
#[must_use]
pub fn text(content: String) -> ContentPart {
    event::ContentPart::from(content).into()
}

/// Creates a part from a file in a provider's store, by its id there. `provider` names the owner of the id, so that no
/// other provider is asked for the file. `media_type` is the type of the file: `image/png` makes it a picture; without
/// a type it is a document.
// Uniffi passes strings by value.
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

/// The location of media.
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
    /// The location as text: an address if the text has a scheme, `https://…` or `data:…`, otherwise a path.
    Text {
        /// The text.
        text: String,
    },
}

/// Creates a part of media. The type is `media_type`, or is detected from the first bytes, and failing that from the
/// name. A file is read at once; the provider fetches what is at an address. Refused are a missing or empty file, a
/// type that is unknown or of another kind, and an address that cannot be fetched.
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

/// Joins a text and the parts that follow it. With parts, an empty text is left out.
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
