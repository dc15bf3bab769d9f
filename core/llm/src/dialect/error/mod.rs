//! What goes wrong at a provider, as one typed error: from the body of an HTTP error, or from what a stream reports.

mod body;
mod kind;
mod stream;
mod wait;

pub use body::excerpt;
pub(super) use stream::StreamError;

use body::Report;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// What a provider answered instead of a stream: an HTTP error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the provider answered {status}: {message}")]
pub struct ApiError {
    /// What kind of error it is, so that an app can act on it.
    pub kind: ApiErrorKind,
    /// The HTTP status.
    pub status: u16,
    /// The provider's own words.
    pub message: String,
    /// The provider's own code or type for it.
    pub code: Option<String>,
    /// The wait that the body asks for before the next try; most providers say it in a header instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}

/// The kinds of errors that an app acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ApiErrorKind {
    /// The key is missing, wrong or not allowed to do this: ask the user for another.
    Authentication,
    /// Too many requests, or the quota is used up: wait.
    RateLimit,
    /// The request is at fault: sending it again will not help.
    BadRequest,
    /// The model or the address does not exist.
    NotFound,
    /// The provider is at fault: try again later.
    Unavailable,
    /// The provider or the model has too much to do: try again later, or another model.
    Overloaded,
    /// The conversation is longer than the model can read: shorten it.
    ContextTooLong,
    /// The provider's filter stopped the request or the answer.
    ContentFiltered,
    /// The model wrote a call, or a typed answer, that the provider could not read, and the provider threw the answer
    /// away (Groq's `tool_use_failed`). The request is sound: the same one often works at once.
    UnreadableOutput,
}

impl ApiError {
    /// Reads an error body in any of the forms that the providers use: `{"error":{"message",…}}`, `{"error":"…"}`,
    /// `{"message"}`, `{"detail"}`, problem details (`{"title","detail"}`), or no JSON at all.
    #[must_use]
    pub fn from_body(status: u16, body: &[u8]) -> Self {
        let report = Report::read(body);
        Self {
            kind: kind::of(status, &report),
            status,
            retry_after: report.retry_after(),
            message: report.message,
            code: report.code,
        }
    }

    /// Whether trying again may help: the provider has too much to do or is at fault, and it is not that the account's
    /// quota or credit is used up.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.kind.is_transient()
            && self.status != 402
            && !kind::is_used_up(self.code.as_deref(), &self.message)
    }
}

impl ApiErrorKind {
    /// The kind of a failure that a stream reported, by the peer's code and words; `None` if neither says.
    #[must_use]
    pub fn of_stream(code: Option<&str>, message: &str) -> Option<Self> {
        kind::of_words(&Report::new(message.to_owned(), code.map(str::to_owned)))
    }

    /// Whether errors of this kind pass by themselves.
    pub(crate) fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimit | Self::Unavailable | Self::Overloaded | Self::UnreadableOutput
        )
    }

    /// Its name, as it is stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::RateLimit => "rate_limit",
            Self::BadRequest => "bad_request",
            Self::NotFound => "not_found",
            Self::Unavailable => "unavailable",
            Self::Overloaded => "overloaded",
            Self::ContextTooLong => "context_too_long",
            Self::ContentFiltered => "content_filtered",
            Self::UnreadableOutput => "unreadable_output",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}

/// The wait that the words of a failure ask for before the next try.
pub fn wait_in_words(message: &str) -> Option<Duration> {
    wait::in_words(message)
}

/// What the model wrote and the provider could not read goes to the log, for whoever looks into it: it is the model's
/// text, so at the level for that alone.
fn log_unread_output(body: &Value) {
    let error = body.get("error").unwrap_or(body);
    if let Some(output) = error.get("failed_generation") {
        let output = match output.as_str() {
            Some(text) => excerpt(text.as_bytes()),
            None => excerpt(output.to_string().as_bytes()),
        };
        tracing::debug!(target: "stepwell", failed_generation = output, "the provider could not read what the model wrote");
    }
}

/// Whether a failure that a stream reported may pass by itself.
pub fn is_transient_in_stream(
    kind: Option<ApiErrorKind>,
    code: Option<&str>,
    message: &str,
) -> bool {
    kind.is_some_and(ApiErrorKind::is_transient) && !kind::is_used_up(code, message)
}
