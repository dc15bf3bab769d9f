//! Media in messages and in results of tools: images, audio, video, documents.
//!
//! ```no_run
//! # async fn example(agent: stepwell_io::Agent) -> Result<(), Box<dyn std::error::Error>> {
//! use stepwell_io::media::{document, image};
//!
//! let result = agent.run(("What is this?", image("shark.png")?)).await?;
//! let result = agent.run(("Which of these is it?", document("https://example.com/sharks.pdf")?)).await?;
//! # Ok(())
//! # }
//! ```

use percent_encoding::percent_decode_str;
use std::fs;
use std::path::{Path, PathBuf};

pub use stepwell_core::event::{ContentPart, MediaKind};

/// The location of media: in memory, in a file, or at an address. A text with a scheme, `https://…` or `data:…`, is an
/// address; any other text is a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSource {
    location: MediaLocation,
    media_type: Option<String>,
    name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum MediaLocation {
    Bytes(Vec<u8>),
    Path(PathBuf),
    Url(String),
}

/// Why media cannot be made a part of a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MediaError {
    /// The file cannot be read.
    #[error("`{}` cannot be read: {error}; look whether it is there, and a file", .path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        #[source]
        error: std::io::Error,
    },
    /// The media are empty, of an unknown type, or of another kind.
    #[error(transparent)]
    Refused(#[from] stepwell_core::event::MediaError),
    /// The media in a file are empty, of an unknown type, or of another kind.
    #[error("`{}`: {error}", .path.display())]
    RefusedFile {
        /// The path of the file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: stepwell_core::event::MediaError,
    },
}

/// Returns an image.
///
/// # Errors
/// The file cannot be read or is empty, its type is unknown or of another kind, or no provider fetches from the scheme
/// of the address. The same holds for the other functions here.
pub fn image(source: impl Into<MediaSource>) -> Result<ContentPart, MediaError> {
    source.into().part(MediaKind::Image)
}

/// Returns audio.
///
/// # Errors
/// As for [`image`].
pub fn audio(source: impl Into<MediaSource>) -> Result<ContentPart, MediaError> {
    source.into().part(MediaKind::Audio)
}

/// Returns a video.
///
/// # Errors
/// As for [`image`].
pub fn video(source: impl Into<MediaSource>) -> Result<ContentPart, MediaError> {
    source.into().part(MediaKind::Video)
}

/// Returns a document: a PDF file, a text, or whatever else the provider reads.
///
/// # Errors
/// As for [`image`].
pub fn document(source: impl Into<MediaSource>) -> Result<ContentPart, MediaError> {
    source.into().part(MediaKind::Document)
}

/// Returns a file in a provider's store, by its id there.
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
/// The media type is invalid.
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
    /// Returns the id of a document, at whichever provider the message is sent to.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            provider: None,
            media_type: None,
        }
    }

    /// Names the provider that has the file, so that no other provider is sent the id.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// Sets the media type: `image/png` makes the file an image.
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
    fn new(location: MediaLocation) -> Self {
        Self {
            location,
            media_type: None,
            name: None,
        }
    }

    /// Returns media in memory.
    #[must_use]
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(MediaLocation::Bytes(bytes.into()))
    }

    /// Returns media in a file, which is read when the part is made.
    #[must_use]
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self::new(MediaLocation::Path(path.into()))
    }

    /// Returns media at an address, which the provider fetches.
    #[must_use]
    pub fn url(url: impl Into<String>) -> Self {
        Self::new(MediaLocation::Url(url.into()))
    }

    /// Sets the media type, where it cannot be detected.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Names media in memory: the extension gives the type where the bytes do not, and some providers show the model
    /// the name. A file has its own name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes a part of a message.
    ///
    /// # Errors
    /// As for [`image`].
    pub fn part(self, kind: MediaKind) -> Result<ContentPart, MediaError> {
        let media_type = self.media_type.as_deref();
        let name = self.name.as_deref();
        match self.location {
            MediaLocation::Bytes(bytes) => {
                Ok(ContentPart::of_bytes(kind, &bytes, media_type, name)?)
            }
            MediaLocation::Url(url) => Ok(ContentPart::of_url(kind, &url, media_type)?),
            MediaLocation::Path(path) => {
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

/// Returns whether a text is an address. One letter before the colon is a drive.
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
    fn reads_a_text_as_address_or_path() {
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
    fn names_the_path_of_an_unusable_file() {
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
