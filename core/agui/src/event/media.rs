//! Content parts from bytes, from an address, or from a file in a provider's store.

use super::content::{ContentPart, MediaPart, Source, TextPart};
use super::field::Metadata;
use super::media_type::{essence, of_bytes, of_name};
use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use percent_encoding::percent_decode_str;
use serde_json::json;
use std::borrow::Cow;
use std::fmt;

/// Base64 as it is met: with padding or without.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes base64, or returns `None` for text that is not base64.
pub fn from_base64(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    LENIENT.decode(text).ok()
}

/// The kind of a media part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum MediaKind {
    /// An image.
    Image,
    /// Audio.
    Audio,
    /// A video.
    Video,
    /// A document: a PDF file, a text, or any other file.
    Document,
}

impl MediaKind {
    /// Returns the kind of a media type: `image` for `image/png`.
    #[must_use]
    pub fn of(media_type: &str) -> Self {
        match media_type.split('/').next() {
            Some("image") => Self::Image,
            Some("audio") => Self::Audio,
            Some("video") => Self::Video,
            _ => Self::Document,
        }
    }

    /// Returns the kind's name, as in a part's `type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Document => "document",
        }
    }

    /// The media type as one of this kind. Some containers hold sound as well as films.
    fn fitted(self, media_type: Cow<'_, str>) -> Result<Cow<'_, str>, MediaError> {
        let found = Self::of(&media_type);
        if found == self {
            return Ok(media_type);
        }
        match (self, media_type.as_ref()) {
            (Self::Audio, "video/mp4" | "video/webm" | "video/ogg")
            | (Self::Video, "audio/mp4" | "audio/webm" | "audio/ogg") => {
                let (_, container) = media_type.split_once('/').unwrap_or_default();
                Ok(format!("{}/{container}", self.as_str()).into())
            }
            // A picture of text, a text: a document is whatever the app calls one.
            (Self::Document, _) => Ok(media_type),
            _ => Err(MediaError::WrongKind {
                wanted: self,
                media_type: media_type.into_owned(),
                found,
            }),
        }
    }
}

impl fmt::Display for MediaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason why a part cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum MediaError {
    /// The data is empty.
    #[error("the {wanted} has no bytes; check that it was written and read completely")]
    Empty {
        /// The kind of part that was requested.
        wanted: MediaKind,
    },
    /// Neither the first bytes nor the name tell the media type.
    #[error(
        "neither the first bytes nor the name of the {wanted} say of what media type it is; say it, such as `image/png`"
    )]
    UnknownType {
        /// The kind of part that was requested.
        wanted: MediaKind,
    },
    /// The media is of another kind.
    #[error("{media_type} is no {wanted}; give it as `{found}`")]
    WrongKind {
        /// The kind of part that was requested.
        wanted: MediaKind,
        /// The actual media type.
        media_type: String,
        /// The kind that fits the media type.
        found: MediaKind,
    },
    /// The text is not a media type.
    #[error("`{media_type}` is no media type; one is `image/png`")]
    NoMediaType {
        /// The text that was given.
        media_type: String,
    },
    /// The address has a scheme that no provider fetches from.
    #[error(
        "nobody fetches from an address that begins with `{scheme}:`; give one of `https`, `http` or `gs`, a `data` URL, or the bytes"
    )]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The text is not an address.
    #[error("`{address}` is no address; one begins with `https://`")]
    NoAddress {
        /// The text that was given.
        address: String,
    },
    /// The address is a `data` URL whose data is not base64.
    #[error("the `data` URL holds no base64; give the bytes instead")]
    NoBase64,
}

impl ContentPart {
    /// Creates a part from bytes. Without a `media_type`, the first bytes or else the name tell the type. The name is
    /// sent to providers that show it to the model.
    ///
    /// ```
    /// use stepwell_agui::event::{ContentPart, MediaKind};
    ///
    /// let part = ContentPart::of_bytes(MediaKind::Document, b"# Tea", None, Some("tea.md"))?;
    /// # assert!(serde_json::to_string(&part)?.contains("text/markdown"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The data is empty, its type is unknown, or it is not of this kind.
    pub fn of_bytes(
        kind: MediaKind,
        bytes: &[u8],
        media_type: Option<&str>,
        name: Option<&str>,
    ) -> Result<Self, MediaError> {
        if bytes.is_empty() {
            return Err(MediaError::Empty { wanted: kind });
        }
        let found = match media_type {
            Some(given) => Cow::Borrowed(checked(given)?),
            None => of_bytes(bytes, name)
                .ok_or(MediaError::UnknownType { wanted: kind })?
                .into(),
        };
        let source = Source::Data {
            value: STANDARD.encode(bytes),
            mime_type: kind.fitted(found)?.into_owned(),
        };
        Ok(Self::of_source(kind, source, name))
    }

    /// Creates a part from a provider's base64 data, which is not decoded or checked.
    #[must_use]
    pub fn from_base64(base64: &str, media_type: &str) -> Self {
        let source = Source::Data {
            value: base64.to_owned(),
            mime_type: media_type.to_owned(),
        };
        Self::of_source(MediaKind::of(media_type), source, None)
    }

    /// Creates a part at an address, which the provider fetches. The bytes of a `data` URL are extracted.
    ///
    /// # Errors
    /// The text is not an address, no provider fetches from it, or the media is not of this kind.
    pub fn of_url(
        kind: MediaKind,
        url: &str,
        media_type: Option<&str>,
    ) -> Result<Self, MediaError> {
        let no_address = || MediaError::NoAddress {
            address: url.to_owned(),
        };
        let (scheme, rest) = url.split_once(':').ok_or_else(no_address)?;
        match scheme.to_ascii_lowercase().as_str() {
            "data" => return Self::of_data_url(kind, rest, media_type),
            "http" | "https" | "gs" if rest.trim_start_matches('/').is_empty() => {
                return Err(no_address());
            }
            "http" | "https" | "gs" => {}
            _ => {
                return Err(MediaError::Scheme {
                    scheme: scheme.to_owned(),
                });
            }
        }
        let path = url.split(['?', '#']).next().unwrap_or(url);
        let found = match media_type {
            Some(given) => Some(Cow::Borrowed(checked(given)?)),
            None => of_name(path).map(Cow::Borrowed),
        };
        let fitted = found.map(|found| kind.fitted(found)).transpose()?;
        let source = Source::Url {
            value: url.to_owned(),
            mime_type: fitted.map(Cow::into_owned),
        };
        Ok(Self::of_source(kind, source, None))
    }

    /// Creates a part from the part of a URL after `data:`.
    fn of_data_url(
        kind: MediaKind,
        rest: &str,
        media_type: Option<&str>,
    ) -> Result<Self, MediaError> {
        let (head, data) = rest.split_once(',').ok_or(MediaError::NoBase64)?;
        let decoded: Vec<u8> = percent_decode_str(data).collect();
        let (declared, bytes) = match head.strip_suffix(";base64") {
            Some(declared) => {
                let bytes = from_base64(decoded);
                (declared, bytes.ok_or(MediaError::NoBase64)?)
            }
            None => (head, decoded),
        };
        let declared = Some(essence(declared)).filter(|declared| !declared.is_empty());
        Self::of_bytes(kind, &bytes, media_type.or(declared), None)
    }

    /// Creates a part from a file in a provider's store, by the file's id. `provider` is the name of that provider in
    /// the table of providers; without it, the id is sent to any provider. The media type decides the kind of part;
    /// without it, the part is a document.
    ///
    /// # Errors
    /// The text is not a media type.
    pub fn of_file(
        id: impl Into<String>,
        provider: Option<&str>,
        media_type: Option<&str>,
    ) -> Result<Self, MediaError> {
        let media_type = media_type.map(checked).transpose()?;
        let kind = media_type.map_or(MediaKind::Document, MediaKind::of);
        let source = Source::File {
            value: id.into(),
            provider: provider.map(str::to_owned),
            mime_type: media_type.map(str::to_owned),
        };
        Ok(Self::of_source(kind, source, None))
    }

    fn of_source(kind: MediaKind, source: Source, name: Option<&str>) -> Self {
        let part = MediaPart {
            source,
            id: None,
            metadata: name.map(|name| json!({ "filename": name })),
            extra: Metadata::new(),
        };
        match kind {
            MediaKind::Image => Self::Image(part),
            MediaKind::Audio => Self::Audio(part),
            MediaKind::Video => Self::Video(part),
            MediaKind::Document => Self::Document(part),
        }
    }

    /// Returns the part's media and their kind, or `None` for text.
    #[must_use]
    pub fn media(&self) -> Option<(MediaKind, &MediaPart)> {
        match self {
            Self::Text(_) => None,
            Self::Image(part) => Some((MediaKind::Image, part)),
            Self::Audio(part) => Some((MediaKind::Audio, part)),
            Self::Video(part) => Some((MediaKind::Video, part)),
            Self::Document(part) => Some((MediaKind::Document, part)),
        }
    }
}

/// Checks a media type that the app gave.
fn checked(media_type: &str) -> Result<&str, MediaError> {
    let is_word = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
    match essence(media_type).split_once('/') {
        Some((kind, subtype)) if is_word(kind) && is_word(subtype) => Ok(media_type),
        _ => Err(MediaError::NoMediaType {
            media_type: media_type.to_owned(),
        }),
    }
}

impl From<&str> for ContentPart {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for ContentPart {
    fn from(text: String) -> Self {
        Self::Text(TextPart {
            text,
            ..TextPart::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    fn type_of(part: &Result<ContentPart, MediaError>) -> String {
        match part.as_ref().map(ContentPart::media) {
            Ok(Some((kind, part))) => match &part.source {
                Source::Data { mime_type, .. } => format!("{kind}: {mime_type}"),
                Source::Url { mime_type, .. } | Source::File { mime_type, .. } => {
                    format!("{kind}: {}", mime_type.as_deref().unwrap_or("?"))
                }
            },
            Ok(None) => "text".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_first_bytes_say_the_type_and_where_not_the_name() {
        use MediaKind::{Audio, Document, Image, Video};
        let of =
            |kind, bytes: &[u8], name| type_of(&ContentPart::of_bytes(kind, bytes, None, name));
        assert_eq!(of(Image, PNG, None), "image: image/png");
        assert_eq!(
            of(Image, b"\xff\xd8\xff\xe0", Some("wrong.png")),
            "image: image/jpeg"
        );
        assert_eq!(of(Document, b"%PDF-1.7", None), "document: application/pdf");
        assert_eq!(
            of(Document, b"a,b\n1,2", Some("x.CSV")),
            "document: text/csv"
        );
        assert_eq!(of(Document, b"Tea", None), "document: text/plain");
        assert_eq!(of(Image, b"<svg/>", Some("x.svg")), "image: image/svg+xml");
        let mut webm = b"\x1a\x45\xdf\xa3\x42\x82\x84webm".to_vec();
        webm.resize(300, 0);
        let webm = webm.as_slice();
        assert_eq!(of(Video, webm, None), "video: video/webm");
        assert_eq!(of(Audio, webm, None), "audio: audio/webm");
        assert_eq!(of(Audio, b"RIFF\0\0\0\0WAVE", None), "audio: audio/wav");
    }

    #[test]
    fn what_cannot_be_a_part_is_said_at_once() {
        let of = |bytes: &[u8], name| {
            type_of(&ContentPart::of_bytes(MediaKind::Image, bytes, None, name))
        };
        assert!(of(b"", Some("x.png")).starts_with("the image has no bytes"));
        assert!(of(b"\x01\x02\xff", None).starts_with("neither the first bytes nor the name"));
        assert_eq!(
            of(b"%PDF-1.7", None),
            "application/pdf is no image; give it as `document`"
        );
        let url = |url| type_of(&ContentPart::of_url(MediaKind::Image, url, None));
        assert!(url("ftp://a/b.png").contains("begins with `ftp:`"));
        assert!(url("shark.png").contains("is no address"));
        assert!(url("https://").contains("is no address"));
        assert!(url("https://a/b.mp3").contains("is no image"));
        assert!(url("data:image/png;base64,?").contains("no base64"));
        let typed = ContentPart::of_bytes(MediaKind::Image, PNG, Some("png"), None);
        assert!(type_of(&typed).starts_with("`png` is no media type"));
    }

    #[test]
    fn an_address_stays_one_and_a_data_url_is_taken_apart() {
        let url = |url| type_of(&ContentPart::of_url(MediaKind::Image, url, None));
        assert_eq!(url("https://a/b.JPG?size=2"), "image: image/jpeg");
        assert_eq!(url("https://a/b"), "image: ?");
        assert_eq!(url("gs://a/b.png"), "image: image/png");
        assert_eq!(url("data:image/gif;base64,R0lGODlh"), "image: image/gif");
        assert_eq!(url("data:;base64,R0lGODlh"), "image: image/gif");
        assert_eq!(url("data:image/svg+xml,%3Csvg/%3E"), "image: image/svg+xml");
    }

    #[test]
    fn a_file_of_a_provider_is_what_its_type_says() {
        let of = |media_type| type_of(&ContentPart::of_file("file-1", Some("openai"), media_type));
        assert_eq!(of(None), "document: ?");
        assert_eq!(of(Some("image/png")), "image: image/png");
    }
}
