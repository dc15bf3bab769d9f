use super::decode::{Decode, DecodeError, Sink};
use super::halves::{self, Halves, Joining};
use super::hop_ids::HopIds;
use super::mend::mend;
use super::template::Templated;
use super::{
    EventPosition, ag_ui, anthropic, bedrock_converse, cohere, gemini, gemini_interactions, ollama,
    openai_chat, openai_responses,
};
use crate::event::TokenUsage;
#[cfg(feature = "protobuf")]
use crate::event::protobuf;
use crate::provider::{Dialect, ThinkTags};
use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The decoder of any dialect.
///
/// A frame that is not valid JSON is repaired, if its mistakes are ones that servers and gateways are known to make,
/// and read again. So no dialect has to handle lone surrogates, invalid numbers or repeated keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct Decoder {
    #[serde(flatten)]
    dialect: DialectDecoder,
    #[serde(skip_serializing_if = "Mended::is_nothing")]
    mended: Mended,
}

/// Written by hand, since serde's `flatten` loses the numeric keys of `DialectDecoder`.
impl TryFrom<Value> for Decoder {
    type Error = serde_json::Error;

    fn try_from(mut value: Value) -> Result<Self, serde_json::Error> {
        let mended = value
            .as_object_mut()
            .and_then(|fields| fields.shift_remove("mended"));
        Ok(Self {
            mended: mended
                .map(serde_json::from_value)
                .transpose()?
                .unwrap_or_default(),
            dialect: serde_json::from_value(value)?,
        })
    }
}

/// The repairs in a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Mended {
    /// Whether anything was repaired.
    any: bool,
    /// The halves of surrogate pairs that wait for their other halves, once there were any.
    halves: Option<Halves>,
}

impl Mended {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The warning for the first frame that was repaired.
const MENDED: &str = "a frame was no JSON and was mended: it had half of a character, a number that is none, or a key \
    that comes twice";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DialectDecoder {
    AgUi(Box<Templated<ag_ui::Decoder>>),
    #[serde(rename = "openai-chat")]
    OpenAiChat(Box<Templated<openai_chat::Decoder>>),
    #[serde(rename = "openai-responses")]
    OpenAiResponses(Box<Templated<openai_responses::Decoder>>),
    Anthropic(Box<Templated<anthropic::Decoder>>),
    Gemini(Box<Templated<gemini::Decoder>>),
    GeminiInteractions(Box<Templated<gemini_interactions::Decoder>>),
    Ollama(Box<Templated<ollama::Decoder>>),
    Cohere(Box<Templated<cohere::Decoder>>),
    BedrockConverse(Box<Templated<bedrock_converse::Decoder>>),
}

impl DialectDecoder {
    fn new(dialect: Dialect, ids: HopIds) -> Self {
        match dialect {
            Dialect::AgUi => Self::AgUi(Box::new(Templated::new(ag_ui::Decoder::new(ids)))),
            // Mistral's streams are Chat Completions', with content in parts.
            Dialect::OpenAiChat | Dialect::Mistral => {
                Self::OpenAiChat(Box::new(Templated::new(openai_chat::Decoder::new(ids))))
            }
            Dialect::OpenAiResponses => Self::OpenAiResponses(Box::new(Templated::new(
                openai_responses::Decoder::new(ids),
            ))),
            Dialect::Anthropic => {
                Self::Anthropic(Box::new(Templated::new(anthropic::Decoder::new(ids))))
            }
            Dialect::Gemini => Self::Gemini(Box::new(Templated::new(gemini::Decoder::new(ids)))),
            Dialect::GeminiInteractions => Self::GeminiInteractions(Box::new(Templated::new(
                gemini_interactions::Decoder::new(ids),
            ))),
            Dialect::Ollama => Self::Ollama(Box::new(Templated::new(ollama::Decoder::new(ids)))),
            Dialect::Cohere => Self::Cohere(Box::new(Templated::new(cohere::Decoder::new(ids)))),
            Dialect::BedrockConverse => Self::BedrockConverse(Box::new(Templated::new(
                bedrock_converse::Decoder::new(ids),
            ))),
        }
    }

    #[inline]
    fn get(&self) -> &dyn Decode {
        match self {
            Self::AgUi(decoder) => decoder.as_ref(),
            Self::OpenAiChat(decoder) => decoder.as_ref(),
            Self::OpenAiResponses(decoder) => decoder.as_ref(),
            Self::Anthropic(decoder) => decoder.as_ref(),
            Self::Gemini(decoder) => decoder.as_ref(),
            Self::GeminiInteractions(decoder) => decoder.as_ref(),
            Self::Ollama(decoder) => decoder.as_ref(),
            Self::Cohere(decoder) => decoder.as_ref(),
            Self::BedrockConverse(decoder) => decoder.as_ref(),
        }
    }

    #[inline]
    fn get_mut(&mut self) -> &mut dyn Decode {
        match self {
            Self::AgUi(decoder) => decoder.as_mut(),
            Self::OpenAiChat(decoder) => decoder.as_mut(),
            Self::OpenAiResponses(decoder) => decoder.as_mut(),
            Self::Anthropic(decoder) => decoder.as_mut(),
            Self::Gemini(decoder) => decoder.as_mut(),
            Self::GeminiInteractions(decoder) => decoder.as_mut(),
            Self::Ollama(decoder) => decoder.as_mut(),
            Self::Cohere(decoder) => decoder.as_mut(),
            Self::BedrockConverse(decoder) => decoder.as_mut(),
        }
    }
}

impl Decoder {
    /// Creates a decoder for one stream of a dialect.
    #[must_use]
    pub fn new(dialect: Dialect, ids: HopIds) -> Self {
        Self {
            dialect: DialectDecoder::new(dialect, ids),
            mended: Mended::default(),
        }
    }

    /// Creates a decoder for one body of this media type (`type/subtype` in lower case), because an AG-UI agent may
    /// send its events in more than one encoding. Other media types are read as the dialect's own.
    #[must_use]
    pub fn of_media_type(dialect: Dialect, media_type: &str, ids: HopIds) -> Self {
        #[cfg(feature = "protobuf")]
        if dialect == Dialect::AgUi && media_type == protobuf::MEDIA_TYPE {
            let mut decoder = Self::new(dialect, ids);
            if let DialectDecoder::AgUi(ag_ui) = &mut decoder.dialect {
                ag_ui.reader.read_protobuf();
            }
            return decoder;
        }
        let _ = media_type;
        Self::new(dialect, ids)
    }

    /// Sets whether events and fields that AG-UI does not know are kept.
    pub fn keeping_unknown(mut self, keeps_unknown: bool) -> Self {
        if let DialectDecoder::AgUi(ag_ui) = &mut self.dialect {
            ag_ui.reader.keep_unknown(keeps_unknown);
        }
        self
    }

    /// Returns whether events and fields that AG-UI does not know are kept.
    pub fn keeps_unknown(&self) -> bool {
        matches!(&self.dialect, DialectDecoder::AgUi(decoder) if decoder.reader.keeps_unknown())
    }

    /// Sets the tags between which the answer's text holds the model's thinking, as in
    /// [`Quirks::think_tags`](crate::provider::Quirks::think_tags). In dialects where tags do not count, nothing
    /// changes. It is for a decoder that has not read a frame.
    #[must_use]
    pub fn with_think_tags(mut self, tags: ThinkTags) -> Self {
        match &mut self.dialect {
            DialectDecoder::OpenAiChat(decoder) => decoder.reader.split_thinking(tags),
            DialectDecoder::Ollama(decoder) => decoder.reader.split_thinking(tags),
            _ => {}
        }
        self
    }

    /// Returns the tags between which the answer's text holds the model's thinking.
    #[must_use]
    pub fn think_tags(&self) -> ThinkTags {
        match &self.dialect {
            DialectDecoder::OpenAiChat(decoder) => decoder.reader.think_tags(),
            DialectDecoder::Ollama(decoder) => decoder.reader.think_tags(),
            _ => ThinkTags::Never,
        }
    }

    /// A frame of a stream that has halves of characters.
    #[cold]
    fn frame_with_halves(
        &mut self,
        frame: Frame<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match self.joining(sink, |decoder, sink| decoder.frame(frame, sink)) {
            Ok(()) => Ok(()),
            Err(error) => self.odd_frame(frame, error, sink),
        }
    }

    /// A frame that the dialect does not read.
    #[cold]
    fn odd_frame(
        &mut self,
        frame: Frame<'_>,
        error: DecodeError,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        if !matches!(error, DecodeError::Json { .. }) {
            return Err(error);
        }
        // Gateways send the end mark of Chat Completions after other streams, too. An agent must follow its protocol.
        let is_agent = matches!(self.dialect, DialectDecoder::AgUi(_));
        if !is_agent && frame.data.trim_ascii() == b"[DONE]" {
            return self.joining(sink, |decoder, sink| decoder.end(sink));
        }
        let Some(mended) = mend(frame.data) else {
            let page = self.joining(sink, |decoder, sink| decoder.page(frame.data, sink));
            return page.unwrap_or(Err(error));
        };
        if halves::are_in(&mended) {
            self.mended.halves.get_or_insert_default();
        }
        let data = mended.as_bytes();
        let read = self.joining(sink, |decoder, sink| {
            decoder.frame(Frame { data, ..frame }, sink)
        });
        if let Err(DecodeError::Json { .. }) = read {
            return Err(error);
        }
        if !std::mem::replace(&mut self.mended.any, true) {
            sink.warning(MENDED);
        }
        read
    }

    /// Lets the dialect's decoder do something, with its events put together if the stream has halves of characters.
    fn joining<T>(
        &mut self,
        sink: &mut dyn Sink,
        work: impl FnOnce(&mut dyn Decode, &mut dyn Sink) -> T,
    ) -> T {
        let Self { dialect, mended } = self;
        let decoder = dialect.get_mut();
        match &mut mended.halves {
            Some(halves) => work(decoder, &mut Joining { halves, sink }),
            None => work(decoder, sink),
        }
    }
}

impl Decode for Decoder {
    #[inline]
    fn frame(&mut self, frame: Frame<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        if self.mended.halves.is_some() {
            return self.frame_with_halves(frame, sink);
        }
        match self.dialect.get_mut().frame(frame, sink) {
            Ok(()) => Ok(()),
            Err(error) => self.odd_frame(frame, error, sink),
        }
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.dialect.get().is_done()
    }

    fn usage(&self) -> Option<&TokenUsage> {
        self.dialect.get().usage()
    }

    fn response_id(&self) -> Option<&str> {
        self.dialect.get().response_id()
    }

    fn event_position<'a>(&self, frame: Frame<'a>) -> Option<EventPosition<'a>> {
        self.dialect.get().event_position(frame)
    }

    fn stored(&mut self, data: &[u8], sink: &mut dyn Sink) -> Result<bool, DecodeError> {
        self.joining(sink, |decoder, sink| decoder.stored(data, sink))
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        self.joining(sink, |decoder, sink| decoder.end(sink))?;
        match &mut self.mended.halves {
            Some(halves) => Ok(Joining { halves, sink }.end()?),
            None => Ok(()),
        }
    }
}
