use super::event_position::EventPosition;
use super::hop_ids::HopIds;
use crate::event::{
    ContentPart, Context, Message, Metadata, ResumeEntry, ToolDefinition, ToolMessage,
};
use crate::provider::{Endpoint, ReasoningEffort, header_names};
use crate::{RunId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::fmt;

/// Encodes requests in a dialect.
pub trait Encode: Sync {
    /// Encodes the request.
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest;

    /// Returns whether the format can carry this part in a user's message. Other parts are described as text.
    fn takes(&self, part: &ContentPart) -> bool;

    /// Returns whether the format can carry this part in a tool's result.
    fn takes_in_result(&self, part: &ContentPart, result: &ToolMessage, model: &str) -> bool;

    /// Encodes a request about an answer that the provider makes in the background; `None` if the provider makes none.
    fn encode_stored(
        &self,
        _endpoint: &Endpoint,
        _request: StoredRequest<'_>,
    ) -> Option<HttpRequest> {
        None
    }
}

/// A request about an answer that the provider makes in the background ([`Resumption::Background`]).
///
/// [`Resumption::Background`]: crate::dialect::Resumption::Background
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredRequest<'a> {
    /// Stream the answer from the event after this one.
    Stream {
        /// The provider's id of the answer.
        id: &'a str,
        /// The position of the last event that was read.
        after: &'a EventPosition<'a>,
    },
    /// Send the answer as it is now.
    Read {
        /// The provider's id of the answer.
        id: &'a str,
    },
    /// Stop making the answer.
    Cancel {
        /// The provider's id of the answer.
        id: &'a str,
    },
}

/// The input of one request to a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The destination of the request.
    pub endpoint: &'a Endpoint,
    /// The ids of the request's run.
    pub ids: &'a HopIds,
    /// The run that this run continues.
    pub parent_run_id: Option<&'a RunId>,
    /// The app's instructions, which come first and are not part of the conversation.
    pub instructions: Option<&'a str>,
    /// The conversation so far.
    pub messages: &'a [&'a Message],
    /// The tools that the model may call.
    pub tools: &'a [ToolDefinition],
    /// The state shared with an AG-UI agent.
    pub state: &'a Value,
    /// The settings of the answer.
    pub settings: &'a GenerationSettings,
    /// The answers to the interrupts of the previous run.
    pub resume: &'a [ResumeEntry],
    /// The number of tokens above which the provider should compact the conversation itself, where it can
    /// ([`Dialect::compacts_from`](crate::provider::Dialect::compacts_from)); never if absent.
    pub compact_above: Option<u64>,
    /// The current time. The request names nothing that has expired by then.
    pub now: Timestamp,
}

/// An HTTP request, for the host to send.
///
/// The serde form is for comparing and reading only: it contains no secret, so it cannot be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method: `POST`, or `GET` to read an answer that the provider makes in the background. A `GET` has no body.
    pub method: &'static str,
    /// The full address.
    pub url: String,
    /// The headers, with names in lower case. One of them may hold the API key, so headers must not be logged.
    pub headers: Vec<(String, String)>,
    /// The body: JSON.
    pub body: Vec<u8>,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &header_names(&self.headers))
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

/// The settings of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerationSettings {
    /// The temperature. If absent, the provider's default applies.
    pub temperature: Option<f64>,
    /// The maximum number of tokens in an answer. For providers with a separate budget for thinking, thinking is not
    /// included.
    pub max_output_tokens: Option<u32>,
    /// Whether the model may, must or must not call tools.
    pub tool_choice: ToolChoice,
    /// Whether the model may call several tools at once. If absent, the provider's default applies.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer.
    pub response_format: ResponseFormat,
    /// The amount of thinking before the answer. If absent, the provider's default applies.
    pub reasoning: Option<ReasoningEffort>,
    /// How long the provider should keep the instructions, the tools and the conversation so far in its prompt cache.
    /// If absent, the provider decides, and one that wants marks caches nothing. A message or a part of one is marked
    /// by `cacheControl` in its own metadata.
    #[serde(
        deserialize_with = "cache_lifetime",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_prompt: Option<CacheLifetime>,
    /// The app's id of the end user, which providers use to detect misuse. It should not be the user's name or address.
    /// If the provider's requests have no field for it, the app gets a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Context for an AG-UI agent in addition to the conversation. It is not sent to other APIs.
    pub context: Vec<Context>,
    /// Additional fields of the request's body, which override Stepwell's. Tools that the provider runs itself
    /// (`tools`) are added to the app's tools, and replace a tool of the same name. An AG-UI agent gets these fields as
    /// `forwardedProps`.
    pub extra: Metadata,
}

/// The time that a prompt stays in a provider's cache after its last use. A provider with other times takes the shortest
/// that is no shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CacheLifetime {
    /// Five minutes: for a conversation that continues at once.
    FiveMinutes,
    /// One hour: for a user who takes some time to answer. Writing to the cache may cost more.
    OneHour,
}

/// Reads a lifetime, or the `true` or `false` of earlier versions.
fn cache_lifetime<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<CacheLifetime>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Is(bool),
        Lifetime(Option<CacheLifetime>),
    }

    Ok(match Stored::deserialize(deserializer)? {
        Stored::Is(is_marked) => is_marked.then_some(CacheLifetime::FiveMinutes),
        Stored::Lifetime(lifetime) => lifetime,
    })
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must not call tools.
    None,
    /// The model must call at least one tool.
    Required,
    /// The model must call the tool with this name.
    Named(String),
}

/// The form of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseFormat {
    /// Text.
    #[default]
    Text,
    /// Any JSON object.
    Json,
    /// JSON that conforms to a schema.
    Schema {
        /// The schema's name: letters, digits, `_` and `-`.
        name: String,
        /// The JSON Schema.
        schema: Value,
        /// Whether the provider must enforce the schema, where it can. The app gets a warning about what the provider
        /// does not enforce.
        strict: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Dialect, Quirks};

    #[test]
    fn stored_settings_of_earlier_versions_are_read() {
        let read = |json: &str| {
            serde_json::from_str::<GenerationSettings>(json).map(|read| read.cache_prompt)
        };
        for (json, lifetime) in [
            ("{}", None),
            (r#"{"cache_prompt":false}"#, None),
            (r#"{"cache_prompt":null}"#, None),
            (r#"{"cache_prompt":true}"#, Some(CacheLifetime::FiveMinutes)),
            (
                r#"{"cache_prompt":"one-hour"}"#,
                Some(CacheLifetime::OneHour),
            ),
        ] {
            assert_eq!(read(json).expect("settings"), lifetime, "{json}");
        }
        assert!(read(r#"{"cache_prompt":"for ever"}"#).is_err());
    }

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
