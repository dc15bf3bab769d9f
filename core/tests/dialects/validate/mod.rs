//! Checks an encoded request against the rules of the provider that it is for, as its documentation has them.
//!
//! It reads the JSON of the body and knows neither the encoders nor the legaliser: it is there to find their errors. It
//! checks what Stepwell can get wrong (the history, the calls and their results, the tools and the choice of them), not
//! what only the provider knows (models, limits of size).

mod ag_ui;
mod anthropic;
mod at;
mod calls;
mod chat;
mod cohere;
mod gemini;
mod mistral;
mod ollama;
mod responses;
mod schemas;
mod tools;

use at::{At, Breaches};
use serde_json::Value;
use std::fmt;
use stepwell_core::dialect::{Dialect, HttpRequest};

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    /// Where in the body, as a JSON pointer; empty for the request as a whole.
    pub(crate) pointer: String,
    /// The rule.
    pub(crate) rule: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.rule)
    }
}

/// Whether `provider` accepts the request, as far as it can be said without asking it.
///
/// # Errors
/// Every rule that the request breaks.
pub(crate) fn request(
    dialect: Dialect,
    provider: &str,
    request: &HttpRequest,
) -> Result<(), Vec<Breach>> {
    let mut breaches = Breaches::default();
    let root = Value::Null;
    match serde_json::from_slice::<Value>(&request.body) {
        Err(error) => breaches.add(&At::root(&root), format!("the body is JSON ({error})")),
        Ok(body) => {
            let body = At::root(&body);
            envelope(request, dialect, &body, &mut breaches);
            match dialect {
                Dialect::AgUi => ag_ui::check(&body, &mut breaches),
                Dialect::OpenAiChat => chat::check(&body, provider, &mut breaches),
                Dialect::OpenAiResponses => responses::check(&body, provider, &mut breaches),
                Dialect::Anthropic => anthropic::check(&body, &mut breaches),
                Dialect::Gemini => gemini::check(&body, &request.url, &mut breaches),
                Dialect::Ollama => ollama::check(&body, &mut breaches),
                Dialect::Mistral => mistral::check(&body, &mut breaches),
                Dialect::Cohere => cohere::check(&body, &mut breaches),
            }
        }
    }
    breaches.into_result()
}

/// What stands around the body.
fn envelope(request: &HttpRequest, dialect: Dialect, body: &At<'_>, breaches: &mut Breaches) {
    breaches.unless(request.method == "POST", body, "the method is POST");
    breaches.unless(body.value.is_object(), body, "the body is an object");
    let header = |name: &str| {
        let mut headers = request.headers.iter();
        headers.find(|(header, _)| header == name)
    };
    let media_type = header("content-type").map(|(_, value)| value.as_str());
    breaches.unless(
        media_type == Some("application/json"),
        body,
        "the content type is application/json",
    );
    let path = match dialect {
        Dialect::AgUi => return,
        Dialect::OpenAiChat | Dialect::Mistral => "/chat/completions",
        Dialect::OpenAiResponses => "/responses",
        Dialect::Anthropic => "/messages",
        Dialect::Gemini => ":streamGenerateContent?alt=sse",
        Dialect::Ollama => "/api/chat",
        Dialect::Cohere => "/chat",
    };
    let ends = request.url.ends_with(path);
    breaches.unless(ends, body, format!("the path ends with {path}"));
    if dialect == Dialect::Anthropic {
        let version = header("anthropic-version").is_some();
        breaches.unless(version, body, "the header anthropic-version is there");
    }
    if dialect != Dialect::Gemini {
        let model = body.get("model");
        breaches.unless(!model.text().is_empty(), &model, "the model is named");
        let streams = body.get("stream").value != &Value::Bool(false);
        breaches.unless(streams, body, "the answer is streamed");
    }
}
