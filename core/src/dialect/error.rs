use serde::{Deserialize, Serialize};
use serde_json::Value;

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
}

/// The kinds of errors that an app acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApiErrorKind {
    /// The key is missing, wrong or not allowed to do this: ask the person for another.
    Authentication,
    /// Too many requests, or the quota is used up: wait.
    RateLimit,
    /// The request is at fault: sending it again will not help.
    BadRequest,
    /// The model or the address does not exist.
    NotFound,
    /// The provider is at fault or overloaded: try again later.
    Unavailable,
}

impl ApiErrorKind {
    fn from_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Authentication,
            402 | 429 => Self::RateLimit,
            404 => Self::NotFound,
            408 | 409 | 500.. => Self::Unavailable,
            _ => Self::BadRequest,
        }
    }
}

/// The longest piece of a foreign body that is kept in a message, in bytes.
const EXCERPT: usize = 600;

impl ApiError {
    /// Reads an error body in any of the forms that the providers use: `{"error":{"message",…}}`, `{"error":"…"}`,
    /// `{"message"}`, `{"detail"}`, or no JSON at all.
    #[must_use]
    pub fn from_body(status: u16, body: &[u8]) -> Self {
        let (message, code) = serde_json::from_slice(body)
            .ok()
            .and_then(|body| describe(&body))
            .unwrap_or_else(|| (excerpt(body), None));
        Self {
            kind: ApiErrorKind::from_status(status),
            status,
            message,
            code,
        }
    }

    /// Whether trying again may help, by the HTTP status: 408, 409, 429 and 5xx.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self.status, 408 | 409 | 429 | 500..=599)
    }
}

/// The message and the code or type in an error object of any of the forms that the providers use.
pub(crate) fn describe(body: &Value) -> Option<(String, Option<String>)> {
    let body = match body {
        Value::Array(all) => all.first()?,
        body => body,
    };
    let error = body
        .get("error")
        .filter(|error| !error.is_null())
        .unwrap_or(body);
    let message = match error {
        Value::String(text) => text.clone(),
        _ => words(error.get("message").or_else(|| error.get("detail"))?),
    };
    let code = ["code", "type", "status"].iter().find_map(|field| {
        let value = error.get(field).or_else(|| body.get(field))?;
        (!value.is_null()).then(|| words(value))
    });
    Some((message, code))
}

fn words(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The beginning of a body that is not JSON, on one line.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(EXCERPT)]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        "(an empty body)".to_owned()
    } else {
        line
    }
}
