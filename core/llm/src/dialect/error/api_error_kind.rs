use serde::{Deserialize, Serialize};

/// The kinds of errors that an app can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ApiErrorKind {
    /// The key is missing or wrong: ask the user for another.
    Authentication,
    /// The key is valid, and not allowed to do this: another model, or another account.
    Permission,
    /// Too many requests: wait.
    RateLimit,
    /// The account's quota or credit is used up: waiting does not help.
    Quota,
    /// The request is at fault: sending it again will not help.
    InvalidRequest,
    /// The model or the address does not exist.
    NotFound,
    /// The provider is at fault: try again later.
    ServerError,
    /// The provider or the model is overloaded: try again later, or another model.
    Overloaded,
    /// The conversation is longer than the model can read: shorten it.
    ContextTooLong,
    /// The provider's filter stopped the request or the answer.
    ContentFilter,
    /// The model wrote a call, or a typed answer, that the provider could not read, and the provider threw the answer
    /// away (Groq's `tool_use_failed`). The request is sound: the same one often works at once.
    UnreadableOutput,
}

impl ApiErrorKind {
    /// Returns whether errors of this kind are temporary: a later attempt may succeed.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimit | Self::ServerError | Self::Overloaded | Self::UnreadableOutput
        )
    }

    /// Returns the kind's name in stored data.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::Permission => "permission",
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::InvalidRequest => "invalid_request",
            Self::NotFound => "not_found",
            Self::ServerError => "server_error",
            Self::Overloaded => "overloaded",
            Self::ContextTooLong => "context_too_long",
            Self::ContentFilter => "content_filter",
            Self::UnreadableOutput => "unreadable_output",
        }
    }

    /// Returns the kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}
