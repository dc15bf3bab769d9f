use crate::refused::Refused;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use stepwell_core::event::{ContentPart, MediaKind};
use stepwell_ffi::StepwellError;

/// What a part of media is to be made of: of `data`, in base64, of what is at `url`, or of the file with the id `file`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewPart {
    kind: Option<Kind>,
    data: Option<String>,
    url: Option<String>,
    file: Option<String>,
    /// Whose id it is.
    provider: Option<String>,
    /// Where it is not to be found out.
    media_type: Option<String>,
    /// The name of bytes.
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
    /// The part. `bytes` are in the place of `data`, where they come beside the JSON.
    ///
    /// # Errors
    /// It cannot be one: empty, of an unknown type, something else, an address that nobody fetches from.
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
