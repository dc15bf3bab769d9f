use super::hop_ids::HopIds;
use crate::event::{
    ContentPart, Context, Message, Metadata, ResumeEntry, ToolDefinition, ToolMessage,
};
use crate::provider::{Endpoint, ReasoningEffort, header_names};
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
            .field("headers", &header_names(&self.headers))
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Dialect, Quirks};

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
