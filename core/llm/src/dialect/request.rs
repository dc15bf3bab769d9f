use super::Dialect;
use super::HopIds;
use super::ag_ui::AgUiOptions;
use super::shown;
use crate::event::{
    ContentPart, Context, Message, Metadata, ResumeEntry, ToolDefinition, ToolMessage,
};
use crate::provider::{KeyHeader, ModelPrice, ModelRules};
use crate::{RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Builds the HTTP request for the next hop.
pub trait Encode: Sync {
    /// The request.
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest;

    /// Whether the format has a place for this part in what a user says. What it has none for goes in words.
    fn takes(&self, part: &ContentPart) -> bool;

    /// Whether it has one in a tool's result.
    fn takes_in_result(&self, part: &ContentPart, result: &ToolMessage, model: &str) -> bool;
}

/// All that the next hop's request is made from.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// Where it goes.
    pub endpoint: &'a Endpoint,
    /// The hop's ids.
    pub ids: &'a HopIds,
    /// The run that this one continues.
    pub parent_run_id: Option<&'a RunId>,
    /// The app's own instructions: they go first, and are no part of the conversation.
    pub instructions: Option<&'a str>,
    /// The conversation so far.
    pub messages: &'a [Message],
    /// The tools on offer; none if empty.
    pub tools: &'a [ToolDefinition],
    /// The state shared with an AG-UI agent.
    pub state: &'a Value,
    /// How the model is to answer.
    pub settings: &'a GenerationSettings,
    /// The answers to the interrupts of the hop before.
    pub resume: &'a [ResumeEntry],
    /// When it is made: what has run out by then is not named in it.
    pub now: Timestamp,
}

/// An HTTP request, for the host to send.
///
/// Its serde form is for comparing and for reading, never for sending: it holds no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method: `POST` in every dialect so far.
    pub method: &'static str,
    /// The full address.
    pub url: String,
    /// The headers, names in lower case. One of them may hold the API key: do not log them.
    pub headers: Vec<(String, String)>,
    /// The body: JSON.
    pub body: Vec<u8>,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &names(&self.headers))
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

/// A secret: neither printed nor serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret itself, for the header that carries it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}

impl From<&str> for Secret {
    fn from(secret: &str) -> Self {
        Self(secret.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// One place that answers requests: a provider's API, a model, and the key for it.
///
/// Its serde form holds no secret: of the key only that there is one, of the headers the names, of the address nothing
/// that may be a credential. What is read back has an ellipsis in their places.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The provider's name, as in the table of [`provider`](crate::provider).
    pub provider: String,
    /// The wire format it speaks.
    pub dialect: Dialect,
    /// The address that the dialect's path is appended to; for AG-UI the whole address, in which `{thread_id}` and
    /// `{run_id}` stand for the hop's.
    #[serde(serialize_with = "shown::serialize_address")]
    pub base_url: String,
    /// The model.
    pub model: String,
    /// The API key.
    #[serde(with = "shown::key")]
    pub key: Option<Secret>,
    /// Headers to send besides the dialect's own.
    #[serde(serialize_with = "shown::serialize_headers")]
    pub headers: Vec<(String, String)>,
    /// The header that carries a key which the host gives (`Credentials`), where it is not the dialect's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_header: Option<KeyHeader>,
    /// Where the provider differs from its dialect.
    pub quirks: Quirks,
}

impl Endpoint {
    /// The same for a request with this key.
    pub fn with_key(mut self, key: Secret) -> Self {
        match &self.key_header {
            Some(KeyHeader { name, prefix }) => {
                let value = format!("{prefix}{}", key.expose());
                self.put_headers(&[(name.to_string(), value)]);
            }
            None => self.key = Some(key),
        }
        self
    }

    /// Puts headers beside its own; one takes the place of those of its name.
    pub fn put_headers(&mut self, headers: &[(String, String)]) {
        let is_same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        let own = &mut self.headers;
        own.retain(|(name, _)| !headers.iter().any(|(other, _)| is_same(name, other)));
        own.extend_from_slice(headers);
    }
}

impl fmt::Debug for Endpoint {
    /// Of the headers only the names: one of them may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("dialect", &self.dialect)
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("key", &self.key)
            .field("headers", &names(&self.headers))
            .field("quirks", &self.quirks)
            .finish()
    }
}

/// Returns the names of headers, without their values.
pub fn names(headers: &[(String, String)]) -> Vec<&str> {
    headers.iter().map(|(name, _)| name.as_str()).collect()
}

/// Where a provider's requests differ from its dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Quirks {
    /// It refuses `stream_options`, and sends usage unasked.
    pub no_stream_options: bool,
    /// It knows no `developer` role; its messages go as `system`.
    pub no_developer_role: bool,
    /// It calls the limit of an answer `max_completion_tokens`, not `max_tokens`.
    pub max_completion_tokens: bool,
    /// How it wants the model's reasoning back.
    pub reasoning: ReasoningReturn,
    /// How it is told how much the model may think.
    pub effort: EffortField,
    /// How it is told which end user a request is for.
    pub user: UserField,
    /// It takes marks for its prompt cache, `cache_control`, on the parts of a message.
    pub cache_marks: bool,
    /// It refuses a form of the answer beside tools; the model is asked for it in words.
    pub no_format_with_tools: bool,
    /// It takes a refusal back as the message's `refusal`. Elsewhere it goes as text.
    pub refusals: bool,
    /// The media that it takes, of those that its format has a place for: the [`Capabilities`] of its API say it.
    ///
    /// [`Capabilities`]: crate::provider::Capabilities
    #[serde(skip_serializing_if = "Media::is_all")]
    pub media: Media,
    /// What the model takes; as the table of models has it if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRules>,
    /// What the model costs, if that is known. An app that pays another price puts it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
    /// How a stream that breaks off is gone on with.
    pub resumption: Resumption,
    /// What an AG-UI agent needs to be told, or forgiven.
    pub ag_ui: AgUiOptions,
}

/// The media that an API takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Media {
    /// Pictures.
    pub images: bool,
    /// Sound.
    pub audio: bool,
    /// Documents, such as PDF files.
    pub documents: bool,
}

impl Media {
    /// All of them.
    pub const ALL: Self = Self {
        images: true,
        audio: true,
        documents: true,
    };

    fn is_all(&self) -> bool {
        *self == Self::ALL
    }

    /// Whether the part is of a kind that is among them. Text is, and of films only the format says.
    pub(super) fn has(self, part: &ContentPart) -> bool {
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

/// How a stream that breaks off is gone on with. The same request goes out again, as often as the
/// retry policy (`RetryPolicy`) says; a body that brought something new begins its count anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Resumption {
    /// Not at all: the turn fails, with what was received kept.
    #[default]
    Never,
    /// The backend gives each event an id, and goes on after the one that the request names in `Last-Event-ID`.
    LastEventId,
    /// The backend sends all that the run has said, from the first event on, and then goes on. What was seen is dropped,
    /// also where pieces of text are cut otherwise than before. A body that says something else ends the turn.
    Replay,
    /// The backend says with a `MESSAGES_SNAPSHOT`, and a `STATE_SNAPSHOT` if it has a state, how things stand, and then
    /// goes on. The beginnings and ends that were missed are put in.
    Snapshot,
}

/// How a provider wants the model's own reasoning back with the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ReasoningReturn {
    /// Not at all: it ignores or refuses it.
    #[default]
    Never,
    /// Its text, as `reasoning_content` (DeepSeek, Kimi): empty on the messages that have none of this provider's, since
    /// they refuse a message without it.
    Content,
    /// The `reasoning_details` that it sent, unchanged (OpenRouter).
    Details,
}

/// How a provider that is compatible with Chat Completions is told how much the model may think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EffortField {
    /// `reasoning_effort`: `none`, `low`, `medium` or `high` (OpenAI, Groq, Fireworks and most others).
    #[default]
    ReasoningEffort,
    /// `reasoning`: an object with the `effort` (OpenRouter).
    Reasoning,
    /// Not at all: it refuses both.
    Never,
}

/// How a provider that is compatible with Chat Completions or Responses is told which end user a request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum UserField {
    /// `user` (OpenRouter, Groq, Fireworks and most others).
    #[default]
    User,
    /// `safety_identifier`, which stands for `user` now (OpenAI).
    SafetyIdentifier,
    /// Not at all.
    Never,
}

/// How the model is to answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerationSettings {
    /// Randomness; the provider's default if absent.
    pub temperature: Option<f64>,
    /// The most tokens of an answer. Where a provider is given a budget for thinking apart, thinking has its own beside
    /// them.
    pub max_output_tokens: Option<u32>,
    /// Whether the model may, must or must not call tools.
    pub tool_choice: ToolChoice,
    /// Whether it may ask for several tools at once; the provider's default if absent.
    pub parallel_tool_calls: Option<bool>,
    /// What form the answer has.
    pub response_format: ResponseFormat,
    /// How much the model thinks before it answers; as the provider does by default if absent.
    pub reasoning: Option<ReasoningEffort>,
    /// Whether the instructions, the tools and the conversation so far are marked for the provider's prompt cache, for
    /// the providers that want marks. A message or a part of one is marked by `cacheControl` in its own metadata.
    pub cache_prompt: bool,
    /// The end user that the request is for, as the app names them: for the provider's own watch over misuse, say. Not
    /// the user's name or address. Where a provider's requests have no field for it, a
    /// `RunEvent::Warning` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What an AG-UI agent is to know beside the conversation; other APIs are not sent it.
    pub context: Vec<Context>,
    /// Fields for the request's body in the provider's own words; they win over Stepwell's. Tools that the provider runs
    /// itself (`tools`) stand beside the app's, and of two of one name they win. An AG-UI agent gets these fields as
    /// `forwardedProps`.
    pub extra: Metadata,
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolChoice {
    /// As the model sees fit.
    #[default]
    Auto,
    /// None, though tools may be on offer.
    None,
    /// At least one.
    Required,
    /// The tool of this name.
    Named(String),
}

/// What form the answer has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseFormat {
    /// Text.
    #[default]
    Text,
    /// Some JSON object.
    Json,
    /// JSON of this schema.
    Schema {
        /// What the form is called: letters, digits, `_` and `-`.
        name: String,
        /// The JSON Schema.
        schema: Value,
        /// Whether the provider must hold the model to it, where it can be asked to. A
        /// `RunEvent::Warning` says what it does not hold.
        strict: bool,
    },
}

/// How much the model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasoningEffort {
    /// Not at all, or as little as it can.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_printed() {
        let endpoint = Endpoint {
            provider: "openai".to_owned(),
            dialect: Dialect::OpenAiChat,
            base_url: "http://localhost".to_owned(),
            model: "m".to_owned(),
            key: Some("sk-key".into()),
            headers: vec![("x-team-key".to_owned(), "sk-team".to_owned())],
            key_header: None,
            quirks: Quirks::default(),
        };
        let request = HttpRequest {
            method: "POST",
            url: endpoint.base_url.clone(),
            headers: vec![("authorization".to_owned(), "Bearer sk-key".to_owned())],
            body: b"sk-body".to_vec(),
        };
        let printed = format!("{endpoint:?} {request:?}");
        assert!(printed.contains("x-team-key") && printed.contains("authorization"));
        assert!(!printed.contains("sk-"), "{printed}");
    }
}
