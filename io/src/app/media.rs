//! What goes with a message, or comes of a tool, and is more than text: pictures, sound, films, documents.
//!
//! ```no_run
//! # async fn example(agent: stepwell_io::Agent) -> Result<(), Box<dyn std::error::Error>> {
//! use stepwell_io::media::{document, image};
//!
//! let finished = agent.send(("What is this?", image("shark.png")?)).await?;
//! let finished = agent.send(("Which of these is it?", document("https://example.com/sharks.pdf")?)).await?;
//! # Ok(())
//! # }
//! ```

use percent_encoding::percent_decode_str;
use std::fs;
use std::path::{Path, PathBuf};

pub use stepwell_core::event::{ContentPart, MediaKind};

/// Where media are: in memory, in a file, or at an address. A text with a scheme, `https://…` or `data:…`, is an address, and
/// any other a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSource {
    place: Place,
    media_type: Option<String>,
    name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Bytes(Vec<u8>),
    Path(PathBuf),
    Url(String),
}

/// Why there is no part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MediaError {
    /// The file cannot be read.
    #[error("`{}` cannot be read: {error}; look whether it is there, and a file", .path.display())]
    Unreadable {
        /// Where it was looked for.
        path: PathBuf,
        /// Why not.
        #[source]
        error: std::io::Error,
    },
    /// It is no such part: empty, of an unknown type, something else.
    #[error(transparent)]
    Refused(#[from] stepwell_core::event::MediaError),
    /// The same of a file.
    #[error("`{}`: {error}", .path.display())]
    RefusedFile {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        #[source]
        error: stepwell_core::event::MediaError,
    },
}

/// A picture.
///
/// # Errors
/// The file cannot be read, there is nothing in it, its type is not known or is that of something else; an address has a
/// scheme that nobody fetches from. The same for the others here.
pub fn image(source: impl Into<MediaSource>) -> Result<ContentPart, MediaError> {
    source.into().part(MediaKind::Image)
}

/// Sound.
///
/// # Errors
/// As for [`image`].
pub fn audio(source: impl Into<MediaSource>) -> Result<ContentPart, MediaError> {
    source.into().part(MediaKind::Audio)
}

/// A film.
///
/// # Errors
/// As for [`image`].
pub fn video(source: impl Into<MediaSource>) -> Result<ContentPart, MediaError> {
    source.into().part(MediaKind::Video)
}

/// A document: a PDF file, a text, whatever the provider reads.
///
/// # Errors
/// As for [`image`].
pub fn document(source: impl Into<MediaSource>) -> Result<ContentPart, MediaError> {
    source.into().part(MediaKind::Document)
}

/// A file in a provider's store, by the id that it has there.
///
/// ```
/// use stepwell_io::media::{FileId, file};
///
/// let report = file("file-abc")?;
/// let picture = file(FileId::new("file-abd").media_type("image/png").provider("openai"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Its media type is none.
pub fn file(id: impl Into<FileId>) -> Result<ContentPart, MediaError> {
    let FileId {
        id,
        provider,
        media_type,
    } = id.into();
    Ok(ContentPart::of_file(
        id,
        provider.as_deref(),
        media_type.as_deref(),
    )?)
}

/// The id of a file in a provider's store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileId {
    id: String,
    provider: Option<String>,
    media_type: Option<String>,
}

impl FileId {
    /// A file of whichever provider is asked, and a document.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            provider: None,
            media_type: None,
        }
    }

    /// Says whose id it is, so that no other provider is asked for it.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// Says what it is: `image/png` makes it a picture.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

impl From<&str> for FileId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<String> for FileId {
    fn from(id: String) -> Self {
        Self::new(id)
    }
}

impl MediaSource {
    fn new(place: Place) -> Self {
        Self {
            place,
            media_type: None,
            name: None,
        }
    }

    /// Bytes.
    #[must_use]
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(Place::Bytes(bytes.into()))
    }

    /// A file, which is read when the part is made.
    #[must_use]
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self::new(Place::Path(path.into()))
    }

    /// What the provider fetches from an address.
    #[must_use]
    pub fn url(url: impl Into<String>) -> Self {
        Self::new(Place::Url(url.into()))
    }

    /// Says of what media type it is, where that is not to be found out.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Names bytes: the extension tells their type where they do not, and some providers show the model the name. A file
    /// has its own.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The part.
    ///
    /// # Errors
    /// As for [`image`].
    pub fn part(self, kind: MediaKind) -> Result<ContentPart, MediaError> {
        let media_type = self.media_type.as_deref();
        let name = self.name.as_deref();
        match self.place {
            Place::Bytes(bytes) => Ok(ContentPart::of_bytes(kind, &bytes, media_type, name)?),
            Place::Url(url) => Ok(ContentPart::of_url(kind, &url, media_type)?),
            Place::Path(path) => {
                let bytes = match fs::read(&path) {
                    Ok(bytes) => bytes,
                    Err(error) => return Err(MediaError::Unreadable { path, error }),
                };
                let own = path.file_name().and_then(|name| name.to_str());
                ContentPart::of_bytes(kind, &bytes, media_type, name.or(own))
                    .map_err(|error| MediaError::RefusedFile { path, error })
            }
        }
    }
}

impl From<&str> for MediaSource {
    fn from(text: &str) -> Self {
        if let Some(path) = text.strip_prefix("file://") {
            return Self::path(percent_decode_str(path).decode_utf8_lossy().into_owned());
        }
        if has_scheme(text) {
            Self::url(text)
        } else {
            Self::path(text)
        }
    }
}

/// Whether a text is an address. One letter before the colon is a drive.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let is_scheme = scheme.len() > 1 && scheme.bytes().all(is_letter);
    is_scheme && (rest.starts_with("//") || scheme.eq_ignore_ascii_case("data"))
}

impl From<String> for MediaSource {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&String> for MediaSource {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&Path> for MediaSource {
    fn from(path: &Path) -> Self {
        Self::path(path)
    }
}

impl From<PathBuf> for MediaSource {
    fn from(path: PathBuf) -> Self {
        Self::path(path)
    }
}

impl From<&PathBuf> for MediaSource {
    fn from(path: &PathBuf) -> Self {
        Self::path(path)
    }
}

impl From<Vec<u8>> for MediaSource {
    fn from(bytes: Vec<u8>) -> Self {
        Self::bytes(bytes)
    }
}

impl From<&[u8]> for MediaSource {
    fn from(bytes: &[u8]) -> Self {
        Self::bytes(bytes)
    }
}

impl<const N: usize> From<&[u8; N]> for MediaSource {
    fn from(bytes: &[u8; N]) -> Self {
        Self::bytes(bytes.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_scheme_is_an_address_and_any_other_a_path() {
        for text in [
            "https://a/b.png",
            "data:image/gif;base64,R0",
            "gs://a/b",
            "ftp://a/b",
        ] {
            assert_eq!(MediaSource::from(text), MediaSource::url(text), "{text}");
        }
        for text in ["a/b.png", "C:\\b.png", "10:30.png", "b"] {
            assert_eq!(MediaSource::from(text), MediaSource::path(text), "{text}");
        }
        assert_eq!(
            MediaSource::from("file:///a/b%20c.png"),
            MediaSource::path("/a/b c.png")
        );
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_path() {
        let missing = image("no/such.png").unwrap_err().to_string();
        assert!(
            missing.starts_with("`no/such.png` cannot be read"),
            "{missing}"
        );
        let other = image(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap_err();
        assert!(
            other
                .to_string()
                .ends_with("is no image; give it as `document`"),
            "{other}"
        );
        let scheme = image("ftp://a/b.png").unwrap_err().to_string();
        assert!(scheme.contains("`ftp:`"), "{scheme}");
    }
}
