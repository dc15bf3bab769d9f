//! The wire formats the server speaks: one file each.
//!
//! A dialect looks at a request and turns the neutral [`Part`]s of an answer into bytes ([`Encoder`]). It knows nothing of
//! scripts, time or connections.

#![cfg_attr(
    not(feature = "server"),
    allow(dead_code, reason = "some is for the server alone")
)]

mod ag_ui;
mod anthropic;
mod bedrock_converse;
mod cohere;
mod gemini;
mod gemini_interactions;
mod mistral;
mod ollama;
mod open_ai_chat;
mod open_ai_responses;
#[cfg(feature = "server")]
pub(crate) mod stored;

use serde_json::Value;

use crate::writer::{Part, Setting, Usage};

/// A wire format between an app and a model. `{url}` is what [`MockLlm::url`](crate::MockLlm::url) gives for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI's chat completions: `POST {url}/chat/completions`.
    OpenAiChat,
    /// OpenAI's responses: `POST {url}/responses`.
    OpenAiResponses,
    /// Mistral's chat: `POST {url}/chat/completions`.
    Mistral,
    /// Cohere's chat, version 2: `POST {url}/chat`.
    Cohere,
    /// Google's Gemini: `POST {url}/models/{model}:streamGenerateContent?alt=sse`.
    Gemini,
    /// Google's Gemini, the Interactions API: `POST {url}/interactions`.
    GeminiInteractions,
    /// Ollama's own chat: `POST {url}/api/chat`.
    Ollama,
    /// Anthropic's Messages: `POST {url}/messages`.
    Anthropic,
    /// Amazon Bedrock's Converse: `POST {url}/model/{model}/converse-stream`. The answer is a stream of binary messages. A
    /// frame of a test's own is an object with one field, the event's name: `{"messageStop": {…}}`.
    BedrockConverse,
    /// AG-UI over server-sent events: `POST {url}`.
    AgUi,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Mistral,
        Self::Cohere,
        Self::Gemini,
        Self::GeminiInteractions,
        Self::Ollama,
        Self::Anthropic,
        Self::BedrockConverse,
        Self::AgUi,
    ];

    /// The name in JSON, as `stepwell_core::dialect::Dialect::name` has it: `openai-chat`, `ag-ui` and so on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Mistral => "mistral",
            Self::Cohere => "cohere",
            Self::Gemini => "gemini",
            Self::GeminiInteractions => "gemini-interactions",
            Self::Ollama => "ollama",
            Self::Anthropic => "anthropic",
            Self::BedrockConverse => "bedrock-converse",
            Self::AgUi => "ag-ui",
        }
    }

    /// The dialect of this [`name`](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// The path that an app's address ends in.
    pub(crate) const fn root(self) -> &'static str {
        match self {
            Self::OpenAiChat => "/v1",
            Self::OpenAiResponses => "/v1",
            Self::Mistral => "/mistral/v1",
            Self::Cohere => "/v2",
            Self::Gemini | Self::GeminiInteractions => "/v1beta",
            Self::Ollama => "",
            Self::Anthropic => "/v1",
            Self::BedrockConverse => "/bedrock",
            Self::AgUi => "/ag-ui",
        }
    }

    /// The answer to `GET path`, for the lists of models that some dialects have.
    pub(crate) fn models(path: &str) -> Option<Value> {
        (path == "/v1/models").then(open_ai_chat::models)
    }

    /// The dialect that answers on `path`.
    pub(crate) fn of(path: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.wire().serves(path))
    }

    pub(crate) const fn wire(self) -> &'static dyn Wire {
        match self {
            Self::OpenAiChat => &open_ai_chat::OpenAiChat,
            Self::OpenAiResponses => &open_ai_responses::OpenAiResponses,
            Self::Mistral => &mistral::Mistral,
            Self::Cohere => &cohere::Cohere,
            Self::Gemini => &gemini::Gemini,
            Self::GeminiInteractions => &gemini_interactions::GeminiInteractions,
            Self::Ollama => &ollama::Ollama,
            Self::Anthropic => &anthropic::Anthropic,
            Self::BedrockConverse => &bedrock_converse::BedrockConverse,
            Self::AgUi => &ag_ui::AgUi,
        }
    }
}

/// The behaviour of a dialect.
pub(crate) trait Wire: Sync {
    /// Returns whether requests on this path are its own.
    fn serves(&self, path: &str) -> bool;

    /// Checks the query of the path.
    fn check_query(&self, _query: &str) -> Result<(), Refusal> {
        Ok(())
    }

    /// Returns whether the answer should be streamed.
    fn streams(&self, body: &Value) -> bool {
        body["stream"].as_bool().unwrap_or(false)
    }

    /// Returns the number of answers in the conversation.
    fn answers(&self, body: &Value) -> Answers;

    /// Checks what this mock gave its clients to bring back.
    fn check_own(&self, _body: &Value) -> Result<(), Refusal> {
        Ok(())
    }

    /// The body of an error response.
    fn error(&self, refusal: &Refusal) -> Value;

    /// The headers of an error response, besides its media type.
    fn error_headers(&self, _refusal: &Refusal) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The `content-type` of a streamed answer.
    fn stream_type(&self) -> &'static str;

    /// An encoder for an answer.
    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder>;

    /// The answer to a request that does not stream. Those that always stream have none.
    fn whole(&self, _setting: &Setting, _answer: &Whole) -> Value {
        Value::Null
    }
}

/// Whole events or lines.
pub(crate) type Frames = Vec<Vec<u8>>;

/// Writes the parts of one answer.
pub(crate) trait Encoder {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames);

    /// Frames `data` as one event of the stream.
    fn frame(&self, data: &str) -> Vec<u8> {
        server_sent_event(None, data)
    }
}

/// An answer in one piece.
#[derive(Default)]
pub(crate) struct Whole {
    pub(crate) text: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) calls: Vec<WholeCall>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) usage: Option<Usage>,
}

pub(crate) struct WholeCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The number of the model's answers in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Answers {
    pub(crate) since_user: usize,
    pub(crate) in_all: usize,
}

/// Why a request is refused.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) param: Option<String>,
    pub(crate) code: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            param: None,
            code: None,
        }
    }

    /// Nothing is served on the path.
    pub(crate) fn unknown_url(method: &str, path: &str) -> Self {
        let text = format!("Unknown request URL: {method} {path}. Please check the URL for typos.");
        Self {
            code: Some("unknown_url"),
            ..Self::new(404, text)
        }
    }

    /// The path is served, for another method.
    pub(crate) fn wrong_method(method: &str, path: &str, allowed: &str) -> Self {
        Self::new(
            405,
            format!("Not allowed to {method} on {path}: use {allowed}."),
        )
    }
}

/// The author of a message, as far as counting answers goes.
enum Speaker {
    User,
    Model,
    Tool,
    Other,
}

/// Counts the answers. Messages of the model side by side are one: a client may keep the text and the
/// tool calls of one answer as two messages.
fn count(speakers: impl Iterator<Item = Speaker>) -> Answers {
    let mut answers = Answers::default();
    let mut answering = false;
    for speaker in speakers {
        match speaker {
            Speaker::User => {
                answers.since_user = 0;
                answering = false;
            }
            Speaker::Tool => answering = false,
            Speaker::Model if !answering => {
                answers.since_user += 1;
                answers.in_all += 1;
                answering = true;
            }
            Speaker::Model | Speaker::Other => {}
        }
    }
    answers
}

/// Counts the answers where each message names its author, and results are messages.
fn count_by_role(messages: &[Value]) -> Answers {
    let before = std::iter::once(None).chain(messages.iter().map(Some));
    count(
        messages
            .iter()
            .zip(before)
            .map(|(message, before)| match message["role"].as_str() {
                Some("user") if carries_results(before, message) => Speaker::Tool,
                Some("user") => Speaker::User,
                Some("assistant") => Speaker::Model,
                Some("tool") => Speaker::Tool,
                _ => Speaker::Other,
            }),
    )
}

/// Returns whether this message has the results of tools, a picture say, for which the format has no place in a result:
/// directly after the results, and no user's.
pub(crate) fn carries_results(before: Option<&Value>, message: &Value) -> bool {
    let mut parts = message["content"].as_array().into_iter().flatten();
    before.is_some_and(|before| before["role"] == "tool")
        && parts.any(|part| part["type"] != "text")
}

/// Returns one server-sent event: a `data` field for each line of `data`, then a blank line. Source: WHATWG HTML,
/// "Server-sent events", section 9.2.5.
fn server_sent_event(name: Option<&str>, data: &str) -> Vec<u8> {
    let mut out = String::new();
    if let Some(name) = name.filter(|name| !name.contains('\n')) {
        out.push_str("event: ");
        out.push_str(name);
        out.push('\n');
    }
    for line in data.split('\n') {
        out.push_str("data: ");
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
    out.into_bytes()
}

/// Returns one event that has the name of its `type`.
fn typed_event(data: &Value) -> Vec<u8> {
    server_sent_event(data["type"].as_str(), &data.to_string())
}

/// The arguments of a call as an object; `None` where the text is none.
fn object(arguments: &str) -> Option<serde_json::Map<String, Value>> {
    match arguments {
        "" | "null" => Some(serde_json::Map::new()),
        text => serde_json::from_str(text).ok(),
    }
}

/// A call whose arguments still come, for a dialect that sends complete calls.
struct OpenCall {
    index: usize,
    id: String,
    name: String,
    seal: Option<String>,
    arguments: String,
}

/// The calls whose arguments still come.
#[derive(Default)]
struct OpenCalls(Vec<OpenCall>);

impl OpenCalls {
    fn begin(&mut self, index: usize, id: &str, name: &str, seal: Option<&str>) {
        self.0.push(OpenCall {
            index,
            id: id.to_owned(),
            name: name.to_owned(),
            seal: seal.map(str::to_owned),
            arguments: String::new(),
        });
    }

    fn add(&mut self, index: usize, piece: &str) {
        if let Some(call) = self.0.iter_mut().find(|call| call.index == index) {
            call.arguments.push_str(piece);
        }
    }

    fn end(&mut self, id: &str) -> Option<OpenCall> {
        let place = self.0.iter().position(|call| call.id == id)?;
        Some(self.0.remove(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_from_the_last_user_message() {
        let speakers = |text: &str| {
            let of = |letter| match letter {
                'u' => Speaker::User,
                'm' => Speaker::Model,
                't' => Speaker::Tool,
                _ => Speaker::Other,
            };
            let Answers { since_user, in_all } = count(text.chars().map(of));
            (since_user, in_all)
        };
        assert_eq!(speakers(""), (0, 0));
        assert_eq!(speakers("su"), (0, 0));
        assert_eq!(speakers("sumtt"), (1, 1));
        assert_eq!(
            speakers("summtt"),
            (1, 1),
            "text and calls of one answer kept as two messages"
        );
        assert_eq!(
            speakers("umomt"),
            (1, 1),
            "reasoning does not part an answer"
        );
        assert_eq!(speakers("umtmtt"), (2, 2));
        assert_eq!(speakers("umtmu"), (0, 2));
        assert_eq!(speakers("umumt"), (1, 2));
    }
}
