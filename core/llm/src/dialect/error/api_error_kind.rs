use serde::{Deserialize, Serialize};

/// The kinds of errors that an app can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
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
    /// The provider or the model is overloaded: try again later, or another model.
    Overloaded,
    /// The conversation is longer than the model can read: shorten it.
    ContextTooLong,
    /// The provider's filter stopped the request or the answer.
    ContentFiltered,
    /// The model wrote a call, or a typed answer, that the provider could not read, and the provider threw the answer
    /// away (Groq's `tool_use_failed`). The request is sound: the same one often works at once.
    UnreadableOutput,
}

impl ApiErrorKind {
    /// Returns whether errors of this kind are temporary.
    pub(crate) fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimit | Self::Unavailable | Self::Overloaded | Self::UnreadableOutput
        )
    }

    /// Returns the kind's name in stored data.
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

    /// Returns the kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}
