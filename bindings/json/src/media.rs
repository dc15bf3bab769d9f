use crate::refused::Refused;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use stepwell_core::event::{ContentPart, MediaKind};
use stepwell_ffi::StepwellError;

/// The source of a part of media: `data`, in base64, `url`, or the id `file` of a file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewPart {
    kind: Option<Kind>,
    data: Option<String>,
    url: Option<String>,
    file: Option<String>,
    /// The owner of the file's id.
    provider: Option<String>,
    /// The type, if it should not be detected.
    media_type: Option<String>,
    /// The name of the bytes.
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Image,
    Audio,
    Video,
    Document,
}

impl NewPart {
    /// Builds the part. `bytes` replace `data`, where they are sent next to the JSON.
    ///
    /// # Errors
    /// The media is empty, of an unknown type or not media, or the address cannot be fetched.
    pub(crate) fn part(self, bytes: Option<&[u8]>) -> Result<ContentPart, Refused> {
        let media_type = self.media_type.as_deref();
        let refused = |error| Refused::from(StepwellError::from(error));
        if let Some(id) = self.file {
            return ContentPart::of_file(id, self.provider.as_deref(), media_type).map_err(refused);
        }
        let kind = match self.kind {
            Some(Kind::Image) => MediaKind::Image,
            Some(Kind::Audio) => MediaKind::Audio,
            Some(Kind::Video) => MediaKind::Video,
            Some(Kind::Document) => MediaKind::Document,
            None => return Err(Refused::argument("the part", "it has no `kind`")),
        };
        if let Some(url) = self.url {
            return ContentPart::of_url(kind, &url, media_type).map_err(refused);
        }
        let decoded = self.data.map(|data| STANDARD.decode(data)).transpose();
        let decoded = decoded.map_err(|error| Refused::argument("`data` of the part", error))?;
        let bytes = bytes.or(decoded.as_deref()).unwrap_or_default();
        ContentPart::of_bytes(kind, bytes, media_type, self.name.as_deref()).map_err(refused)
    }
}
