//! The wire formats. Each encodes a conversation as an HTTP request, and decodes the frames of the response into AG-UI
//! events.
//!
//! A dialect knows one format and nothing else; the table in [`provider`](crate::provider) has the dialect and the
//! address of each provider. A new dialect is a folder here with a type that implements `FrameReader` and one that
//! implements [`Encode`], a variant of [`Dialect`], and a line in `decoder.rs`.

mod ag_ui;
mod answer;
mod anthropic;
mod bedrock_converse;
mod cohere;
mod decode;
mod decoder;
mod encoding;
mod error;
mod event_position;
mod form;
mod gemini;
mod gemini_interactions;
mod halves;
mod hop_ids;
mod inline_thinking;
pub mod legal;
mod lenient;
mod limit;
mod made_media;
mod mend;
mod mistral;
mod next_request;
mod offer;
mod ollama;
mod openai_chat;
mod openai_responses;
mod provider_compaction;
mod request;
mod sealed;
mod sent_message;
mod shown;
mod template;
mod text_digest;
mod typed_offer;

pub use ag_ui::{ClientVersion, RunInputError, read_run_input};
pub use decode::{Decode, DecodeError, Sink};
pub use decoder::Decoder;
pub use error::{ApiError, ApiErrorKind};
pub use event_position::EventPosition;
pub use hop_ids::HopIds;
pub use limit::AnswerLimit;
pub use provider_compaction::without_compaction;
pub use request::{
    CacheLifetime, Encode, GenerationSettings, HttpRequest, ModelRequest, ResponseFormat,
    StoredRequest, ToolChoice,
};
pub use sent_message::SentMessage;

// An endpoint and its parts belong to `provider`. A request is built from them, so they are also available here.
#[doc(no_inline)]
pub use crate::provider::{
    AgUiEncoding, AgUiOptions, Dialect, EffortField, Endpoint, Media, Quirks, ReasoningEffort,
    ReasoningReturn, Resumption, Secret, ThinkTags, UserField,
};

// Helpers that Stepwell's other crates share. They are hidden because they may change in any release.
#[doc(hidden)]
pub use self::{
    ag_ui::{Boundary, ON_INTERRUPT, mark_answers},
    encoding::SEGMENT,
    error::{excerpt, wait_in_words},
    limit::ITEM,
    offer::Offer,
};
#[doc(hidden)]
pub use crate::provider::{header_names, shown_headers, shown_key};
pub(crate) use typed_offer::asks_natively;

#[cfg(feature = "protobuf")]
use crate::event::protobuf;
#[cfg(feature = "protobuf")]
use crate::wire::LengthPrefixedFramer;
use crate::wire::{EventStreamFramer, FrameLimits, Framer, JsonLinesFramer, SseFramer};

impl Dialect {
    /// Returns a framer for the dialect's streams.
    #[must_use]
    pub fn framer(self, limits: FrameLimits) -> Framer {
        match self {
            Self::Ollama => Framer::JsonLines(JsonLinesFramer::new(limits)),
            Self::BedrockConverse => Framer::EventStream(EventStreamFramer::new(limits)),
            _ => Framer::Sse(SseFramer::new(limits)),
        }
    }

    /// Returns a framer for a body of this media type (`type/subtype` in lower case), because an AG-UI agent may send
    /// its events in more than one encoding. For other media types it is the dialect's own framer.
    #[must_use]
    pub fn framer_of(self, media_type: &str, limits: FrameLimits) -> Framer {
        match (self, media_type) {
            #[cfg(feature = "protobuf")]
            (Self::AgUi, protobuf::MEDIA_TYPE) => {
                Framer::LengthPrefixed(LengthPrefixedFramer::new(limits))
            }
            (Self::AgUi, "application/x-ndjson" | "application/jsonl") => {
                Framer::JsonLines(JsonLinesFramer::new(limits))
            }
            _ => self.framer(limits),
        }
    }

    /// Returns the encoder of the dialect's requests.
    #[must_use]
    pub fn encoder(self) -> &'static dyn Encode {
        match self {
            Self::AgUi => &ag_ui::Encoder,
            Self::OpenAiChat => &openai_chat::Encoder,
            Self::OpenAiResponses => &openai_responses::Encoder,
            Self::Anthropic => &anthropic::Encoder,
            Self::Gemini => &gemini::Encoder,
            Self::GeminiInteractions => &gemini_interactions::Encoder,
            Self::Ollama => &ollama::Encoder,
            Self::Mistral => &mistral::Encoder,
            Self::Cohere => &cohere::Encoder,
            Self::BedrockConverse => &bedrock_converse::Encoder,
        }
    }
}
