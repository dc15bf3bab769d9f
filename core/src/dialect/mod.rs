//! The wire formats: each decodes frames into AG-UI events and encodes a conversation into an HTTP request.
//!
//! A dialect knows one format and nothing else; which provider speaks which, and where, is the table in
//! [`provider`](crate::provider). To add one: a file (or folder) here with a type that implements [`Decode`] and one
//! that implements [`Encode`], and a line for it in [`Dialect`] and [`Decoder`].

mod ag_ui;
mod cursor;
mod decoder;
mod error;
mod openai_chat;
mod request;
mod shown;

pub use decoder::{Decode, DecodeError, Decoder, HopIds, Sink};
pub(crate) use error::excerpt;
pub use error::{ApiError, ApiErrorKind};
pub use request::{
    Encode, Endpoint, GenerationSettings, HttpRequest, ModelRequest, Quirks, ReasoningReturn,
    Secret, ToolChoice,
};

use crate::wire::{FrameLimits, Framer, SseFramer};
use serde::{Deserialize, Serialize};

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Dialect {
    /// The AG-UI protocol.
    AgUi,
    /// OpenAI's Chat Completions, and what is compatible with it.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
}

impl Dialect {
    /// The dialect's name, as the design and the snapshots have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AgUi => "ag-ui",
            Self::OpenAiChat => "openai-chat",
        }
    }

    /// The framer for its streams.
    #[must_use]
    pub fn framer(self, limits: FrameLimits) -> Framer {
        match self {
            Self::AgUi | Self::OpenAiChat => Framer::Sse(SseFramer::new(limits)),
        }
    }

    /// The encoder of its requests.
    #[must_use]
    pub fn encoder(self) -> &'static dyn Encode {
        match self {
            Self::AgUi => &ag_ui::Encoder,
            Self::OpenAiChat => &openai_chat::Encoder,
        }
    }
}
