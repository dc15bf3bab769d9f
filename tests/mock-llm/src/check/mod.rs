//! Checks a request against the rules of the provider that it is for, as its documentation has them.
//!
//! The mock refuses with it what a provider would refuse, and the tests of Stepwell's own encoders hold their requests to
//! it. It reads the JSON of the body and knows none of those encoders: it is there to find their errors. It checks what a
//! client can get wrong (the history, the calls and their results, the tools and the choice of them), not what only the
//! provider knows (models, limits of size).
//!
//! ```
//! use serde_json::json;
//! use stepwell_mock_llm::Dialect;
//! use stepwell_mock_llm::check::Rules;
//!
//! let body = json!({"model": "any", "messages": [{"role": "tool", "tool_call_id": "a", "content": "1"}]});
//! let breaches = Rules::new(Dialect::OpenAiChat).check(&body).unwrap_err();
//! assert_eq!(breaches[0].pointer, "/messages/0/tool_call_id");
//! ```

mod ag_ui;
mod anthropic;
mod at;
mod bedrock_converse;
mod calls;
mod chat;
mod cohere;
mod gemini;
mod interactions;
mod mistral;
mod ollama;
mod responses;
mod schemas;
mod tools;

use crate::Dialect;
use at::{At, Breaches};
use serde_json::Value;
use std::fmt;

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breach {
    /// The place in the body, as a JSON pointer; empty for the request as a whole.
    pub pointer: String,
    /// The rule.
    pub rule: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            return f.write_str(&self.rule);
        }
        write!(f, "{}: {}", self.pointer, self.rule)
    }
}

/// The rules that a request is held to.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Rules<'a> {
    dialect: Dialect,
    provider: &'a str,
    model: &'a str,
    tidy: bool,
}

impl<'a> Rules<'a> {
    /// The rules of a dialect that every provider of it has.
    pub const fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            provider: "",
            model: "",
            tidy: false,
        }
    }

    /// Adds the rules of one provider, by the name that Stepwell has for it: `openai`, `groq` and so on.
    pub const fn provider(mut self, provider: &'a str) -> Self {
        self.provider = provider;
        self
    }

    /// Names the model, where the dialect has its name in the address; the address itself will do.
    pub const fn model(mut self, model: &'a str) -> Self {
        self.model = model;
        self
    }

    /// Adds what some service or model takes, and a careful client never sends: roles that do not alternate, a text
    /// without a word, an answer that does not stream.
    pub const fn tidy(mut self) -> Self {
        self.tidy = true;
        self
    }

    /// Checks the body of a request.
    ///
    /// # Errors
    /// Every rule that the body breaks.
    pub fn check(&self, body: &Value) -> Result<(), Vec<Breach>> {
        let mut breaches = Breaches::new(self.tidy);
        self.body(&At::root(body), &mut breaches);
        breaches.into_result()
    }

    /// Checks a request with what is around its body: the method, the address and the headers, whose names are in lower
    /// case.
    ///
    /// # Errors
    /// Every rule that the request breaks.
    pub fn check_http(
        &self,
        method: &str,
        url: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<(), Vec<Breach>> {
        let mut breaches = Breaches::new(self.tidy);
        match serde_json::from_slice::<Value>(body) {
            Err(error) => {
                let rule = format!("the body is JSON ({error})");
                breaches.add(&At::root(&Value::Null), rule);
            }
            Ok(body) => {
                let body = At::root(&body);
                self.envelope(method, url, headers, &body, &mut breaches);
                self.model(url).body(&body, &mut breaches);
            }
        }
        breaches.into_result()
    }

    fn body(&self, body: &At<'_>, breaches: &mut Breaches) {
        if !body.value.is_object() {
            return breaches.add(body, "the body is a JSON object");
        }
        if !matches!(
            self.dialect,
            Dialect::Gemini | Dialect::AgUi | Dialect::BedrockConverse
        ) {
            let model = body.get("model");
            breaches.unless(!model.text().is_empty(), &model, "the model is named");
            let streams = body.get("stream").value != &Value::Bool(false);
            breaches.tidy(streams, body, "the answer is streamed");
        }
        match self.dialect {
            Dialect::AgUi => ag_ui::check(body, breaches),
            Dialect::OpenAiChat => chat::check(body, self.provider, breaches),
            Dialect::OpenAiResponses => responses::check(body, self.provider, breaches),
            Dialect::Anthropic => anthropic::check(body, breaches),
            Dialect::BedrockConverse => bedrock_converse::check(body, self.model, breaches),
            Dialect::Gemini => gemini::check(body, self.model, breaches),
            Dialect::GeminiInteractions => interactions::check(body, breaches),
            Dialect::Ollama => ollama::check(body, breaches),
            Dialect::Mistral => mistral::check(body, breaches),
            Dialect::Cohere => cohere::check(body, breaches),
        }
    }

    fn envelope(
        &self,
        method: &str,
        url: &str,
        headers: &[(String, String)],
        body: &At<'_>,
        breaches: &mut Breaches,
    ) {
        breaches.unless(method == "POST", body, "the method is POST");
        let header = |name: &str| {
            let mut headers = headers.iter();
            headers.find(|(header, _)| header == name)
        };
        let media_type = header("content-type").map(|(_, value)| value.as_str());
        breaches.unless(
            media_type == Some("application/json"),
            body,
            "the content type is application/json",
        );
        let path = match self.dialect {
            Dialect::AgUi => return,
            Dialect::OpenAiChat | Dialect::Mistral => "/chat/completions",
            Dialect::OpenAiResponses => "/responses",
            Dialect::Anthropic => "/messages",
            Dialect::Gemini => ":streamGenerateContent?alt=sse",
            Dialect::GeminiInteractions => "/interactions",
            Dialect::Ollama => "/api/chat",
            Dialect::Cohere => "/chat",
            Dialect::BedrockConverse => "/converse-stream",
        };
        let ends = url.ends_with(path);
        breaches.unless(ends, body, format!("the path ends with {path}"));
        if self.dialect == Dialect::Anthropic {
            let version = header("anthropic-version").is_some();
            breaches.unless(version, body, "the header anthropic-version is there");
        }
        if self.dialect == Dialect::GeminiInteractions {
            let revision = header("api-revision").is_some();
            breaches.unless(revision, body, "the header api-revision is there");
        }
    }
}
