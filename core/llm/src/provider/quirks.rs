use super::ag_ui_options::AgUiOptions;
use super::models::ModelRules;
use super::prices::ModelPrice;
use crate::event::ContentPart;
use serde::{Deserialize, Serialize};

/// The differences between a provider's requests and those of its dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Quirks {
    /// The provider refuses `stream_options`, and sends usage without it.
    pub no_stream_options: bool,
    /// The provider has no `developer` role; such messages are sent as `system`.
    pub no_developer_role: bool,
    /// The field that limits an answer is `max_completion_tokens`, not `max_tokens`.
    pub max_completion_tokens: bool,
    /// The form in which the provider wants the model's reasoning back.
    pub reasoning: ReasoningReturn,
    /// The field that says how much the model may think.
    pub effort: EffortField,
    /// The field that names the end user of a request.
    pub user: UserField,
    /// The provider takes marks for its prompt cache, `cache_control`, on the parts of a message.
    pub cache_marks: bool,
    /// The provider takes `prompt_cache_key`, and the fields of its models for the time that a prompt stays cached.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cache_key: bool,
    /// The provider refuses a response format in a request with tools; the instructions describe the format instead.
    pub no_format_with_tools: bool,
    /// The provider takes a refusal back as the message's `refusal`. To other providers it is sent as text.
    pub refusals: bool,
    /// The tags between which the answer's text holds the model's thinking. They count in the dialects `openai-chat`,
    /// `mistral` and `ollama`.
    #[serde(skip_serializing_if = "ThinkTags::is_never")]
    pub think_tags: ThinkTags,
    /// The media that the provider takes, among those that its format can carry. It follows from the [`Capabilities`]
    /// of the API.
    ///
    /// [`Capabilities`]: crate::provider::Capabilities
    #[serde(skip_serializing_if = "Media::is_all")]
    pub media: Media,
    /// The rules of the model. If absent, the table of models has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRules>,
    /// The price of the model, if known. An app that pays another price sets it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
    /// The way to resume a stream that breaks off.
    pub resumption: Resumption,
    /// The options of an AG-UI agent.
    pub ag_ui: AgUiOptions,
}

/// The media that an API takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Media {
    /// Images.
    pub images: bool,
    /// Audio.
    pub audio: bool,
    /// Documents, such as PDF files.
    pub documents: bool,
}

impl Media {
    /// All media.
    pub const ALL: Self = Self {
        images: true,
        audio: true,
        documents: true,
    };

    fn is_all(&self) -> bool {
        *self == Self::ALL
    }

    /// Returns whether the API takes the part. Text is always taken; for video the format alone decides.
    pub(crate) fn has(self, part: &ContentPart) -> bool {
        match part {
            ContentPart::Text(_) | ContentPart::Video(_) => true,
            ContentPart::Image(_) => self.images,
            ContentPart::Audio(_) => self.audio,
            ContentPart::Document(_) => self.documents,
        }
    }
}

impl Default for Media {
    fn default() -> Self {
        Self::ALL
    }
}

/// The way to resume a stream that breaks off. It is opened again as often as the run's retry policy allows; a response that
/// brings new events resets the count. The same request is sent again, except with [`Background`](Self::Background).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Resumption {
    /// The stream is not resumed: the turn fails, and keeps what was received.
    #[default]
    Never,
    /// The backend gives each event an id, and continues after the one that the request names in `Last-Event-ID`.
    LastEventId,
    /// The backend sends all events of the run from the first one, and then continues. Events that were already
    /// received are dropped, even if the text is cut into other deltas than before. A response with other content ends
    /// the turn.
    Replay,
    /// The backend sends a `MESSAGES_SNAPSHOT`, and a `STATE_SNAPSHOT` if there is a state, and then continues. The
    /// start and end events that were missed are added.
    Snapshot,
    /// The provider makes the answer in the background, and keeps it: the answer goes on while nobody reads it, and is read
    /// on from the event after the last one, or as a whole once it is finished. A turn that ends before its answer cancels
    /// the answer at the provider. Only some dialects have it: [`Dialect::has_background`](crate::provider::Dialect::has_background).
    ///
    /// The provider stores the conversation and the answer for a while, which an organization without data retention refuses.
    Background,
}

/// The tags between which the text of an answer holds the model's thinking. Servers of open models send the thinking so
/// if they do not know the model's format, or were not told to read it: vLLM without `--reasoning-parser`, Ollama with
/// an imported model, Fireworks, Groq with the `raw` format.
///
/// What is between the tags becomes the reasoning of the answer, without the white space after each tag. Tags count at
/// the start of an answer alone, and not if the server has sent reasoning in a field of its own. An answer that ends
/// without the closing tag is all reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ThinkTags {
    /// None: a tag is text like any other.
    #[default]
    Never,
    /// `<think>` and `</think>`, if the answer begins with the first. The text of any other answer is unchanged.
    AtStart,
    /// Only `</think>` for certain: the model's template has written the first tag into the prompt, so that each answer
    /// begins with thinking (DeepSeek-R1 and QwQ on a server without a parser). Not for models that may skip their
    /// thinking.
    EndOnly,
}

impl ThinkTags {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    fn is_never(&self) -> bool {
        *self == Self::Never
    }
}

/// The form in which a provider wants the model's own reasoning back with the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ReasoningReturn {
    /// The reasoning is not sent back: the provider ignores or refuses it.
    #[default]
    Never,
    /// The text is sent as `reasoning_content` (DeepSeek, Kimi). These providers refuse a message without the field, so
    /// it is empty where a message has no reasoning of the provider's.
    Content,
    /// The provider's own `reasoning_details` are sent unchanged (OpenRouter).
    Details,
}

/// The field that says how much the model may think, for providers that are compatible with Chat Completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EffortField {
    /// `reasoning_effort`: `none`, `low`, `medium` or `high` (OpenAI, Groq, Fireworks and most others).
    #[default]
    ReasoningEffort,
    /// `reasoning`: an object with the `effort` (OpenRouter).
    Reasoning,
    /// No field: the provider refuses both.
    Never,
}

/// The field that names the end user of a request, for providers that are compatible with Chat Completions or
/// Responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum UserField {
    /// `user` (OpenRouter, Groq, Fireworks and most others).
    #[default]
    User,
    /// `safety_identifier`, which replaces `user` (OpenAI).
    SafetyIdentifier,
    /// No field.
    Never,
}
