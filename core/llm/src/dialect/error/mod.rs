//! Errors of providers as one type, read from the body of an HTTP error or from a stream.

mod api_error_kind;
mod body;
mod kind;
mod stream;
mod used_up;
mod wait;

pub use api_error_kind::ApiErrorKind;
pub use body::excerpt;
pub(super) use stream::StreamError;

use body::Report;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The HTTP error that a provider sent instead of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the provider answered {status}: {message}")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ApiError {
    /// The kind of error.
    pub kind: ApiErrorKind,
    /// The HTTP status.
    pub status: u16,
    /// The provider's message.
    pub message: String,
    /// The provider's code or type of the error.
    pub code: Option<String>,
    /// The delay before a retry that the body asks for. Most providers send it in a header instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
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

    /// Returns whether a retry may help: the provider is overloaded or at fault, and the account's quota or credit is
    /// not used up.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.kind.is_transient()
    }
}

impl ApiErrorKind {
    /// Returns the kind of a failure that a stream reported, by the peer's code and message; `None` if neither
    /// determines it.
    #[must_use]
    pub fn of_stream(code: Option<&str>, message: &str) -> Option<Self> {
        kind::of_words(&Report::new(message.to_owned(), code.map(str::to_owned)))
    }
}

/// Returns the retry delay that an error message asks for.
pub fn wait_in_words(message: &str) -> Option<Duration> {
    wait::in_words(message)
}
