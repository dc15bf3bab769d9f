use super::field::{Metadata, present};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a user or a tool says: plain text, or parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageContent {
    /// Plain text.
    Text(String),
    /// Text and media, in order.
    Parts(Vec<ContentPart>),
}

impl MessageContent {
    /// The text of it: the whole of plain text, or the text parts joined by line breaks.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let texts: Vec<_> = parts
                    .iter()
                    .filter_map(|part| match part {
                        ContentPart::Text(part) => Some(part.text.as_str()),
                        _ => None,
                    })
                    .collect();
                texts.join("\n")
            }
        }
    }
}

impl From<&str> for MessageContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for MessageContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// One part of a message's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ContentPart {
    /// Text.
    Text(TextPart),
    /// A picture.
    Image(MediaPart),
    /// Sound.
    Audio(MediaPart),
    /// A film.
    Video(MediaPart),
    /// A document, such as a PDF file.
    Document(MediaPart),
}

/// A text part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextPart {
    /// The text.
    pub text: String,
    /// Names the part, where the sender does.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<String>,
    /// What the sender attached: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}

/// A media part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaPart {
    /// Where the media is.
    pub source: Source,
    /// Names the part, where the sender does.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<String>,
    /// What the sender attached: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}

/// Where a part's media is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Source {
    /// In the message itself.
    #[serde(rename_all = "camelCase")]
    Data {
        /// The bytes, in base64.
        value: String,
        /// The media type, such as `image/png`.
        mime_type: String,
    },
    /// At an address.
    #[serde(rename_all = "camelCase")]
    Url {
        /// The address.
        value: String,
        /// The media type.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        mime_type: Option<String>,
    },
    /// In a provider's file store.
    #[serde(rename_all = "camelCase")]
    File {
        /// The provider's handle of the file.
        value: String,
        /// Whose handle it is.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        provider: Option<String>,
        /// The media type.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        mime_type: Option<String>,
    },
}
