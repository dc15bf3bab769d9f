use super::field::{Metadata, is_absent, present, present_json};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The content of a user's or a tool's message: plain text, or parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MessageContent {
    /// Plain text.
    Text(String),
    /// Text and media, in order.
    Parts(Vec<ContentPart>),
}

impl MessageContent {
    /// Returns the text: all of plain text, or the text parts joined by line breaks.
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

// Written by hand: a derived untagged enum reports only that nothing matched, not which part is wrong.
impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Content;

        impl<'de> Visitor<'de> for Content {
            type Value = MessageContent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of content parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<MessageContent, E> {
                Ok(MessageContent::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<MessageContent, E> {
                Ok(MessageContent::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<MessageContent, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(parts)).map(MessageContent::Parts)
            }
        }

        deserializer.deserialize_any(Content)
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

impl From<&String> for MessageContent {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<ContentPart> for MessageContent {
    fn from(part: ContentPart) -> Self {
        Self::Parts(vec![part])
    }
}

impl From<Vec<ContentPart>> for MessageContent {
    fn from(parts: Vec<ContentPart>) -> Self {
        Self::Parts(parts)
    }
}

impl<const N: usize> From<[ContentPart; N]> for MessageContent {
    fn from(parts: [ContentPart; N]) -> Self {
        Self::Parts(parts.into())
    }
}

/// Texts and media, in order: `("What is this?", picture)`.
macro_rules! from_parts {
    ($($part:ident),*) => {
        impl<$($part: Into<ContentPart>),*> From<($($part,)*)> for MessageContent {
            #[allow(non_snake_case, reason = "a value is named as its type is")]
            fn from(($($part,)*): ($($part,)*)) -> Self {
                Self::Parts(vec![$($part.into()),*])
            }
        }
    };
}

from_parts!(A, B);
from_parts!(A, B, C);
from_parts!(A, B, C, D);
from_parts!(A, B, C, D, E);
from_parts!(A, B, C, D, E, F);

/// A part of a message's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ContentPart {
    /// Text.
    Text(TextPart),
    /// An image.
    Image(MediaPart),
    /// Audio.
    Audio(MediaPart),
    /// A video.
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
    /// The part's id, if the sender gave it one.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<String>,
    /// Metadata from the sender: any JSON.
    #[serde(
        default,
        deserialize_with = "present_json",
        skip_serializing_if = "is_absent"
    )]
    pub metadata: Option<Value>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}

/// A media part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaPart {
    /// The location of the media.
    pub source: Source,
    /// The part's id, if the sender gave it one.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<String>,
    /// Metadata from the sender: any JSON.
    #[serde(
        default,
        deserialize_with = "present_json",
        skip_serializing_if = "is_absent"
    )]
    pub metadata: Option<Value>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}

/// The location of a part's media.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Source {
    /// The message contains the media.
    #[serde(rename_all = "camelCase")]
    Data {
        /// The bytes, in base64.
        value: String,
        /// The media type, such as `image/png`.
        mime_type: String,
    },
    /// The media is at an address.
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
    /// The media is in a provider's file store.
    #[serde(rename_all = "camelCase")]
    File {
        /// The provider's handle of the file.
        value: String,
        /// The provider that the handle belongs to.
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
