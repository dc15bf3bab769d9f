//! The reasons why a turn has no complete answer, by what an app can do about them.

use super::fallback::ModelName;
use super::outcome::{Deadline, Failure, Incomplete, Outcome};
use crate::dialect::ApiErrorKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason why a turn has no complete answer: [`Outcome::problem`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Problem {
    /// The kind, for the app to act on.
    pub kind: ErrorKind,
    /// A sentence that describes the problem.
    pub message: String,
    /// The advice on how to solve the problem.
    pub advice: &'static str,
    /// Whether the same request may succeed another time.
    #[serde(rename = "retryable")]
    pub is_retryable: bool,
    /// The HTTP status of the provider's answer, if it answered with an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The model that was asked last, with its provider. [`Outcome::problem`] does not know it: the host of the turn
    /// [adds](Self::of_model) it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
}

impl Problem {
    /// Returns the problem with the model that was asked last.
    #[must_use]
    pub fn of_model(self, model: Option<ModelName>) -> Self {
        Self { model, ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.advice)
    }
}

macro_rules! kinds {
    ($( $(#[$doc:meta])* $kind:ident: $advice:literal )*) => {
        /// The kind of a problem, for an app to act on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
        #[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
        pub enum ErrorKind {
            $( $(#[$doc])* $kind, )*
        }

        impl ErrorKind {
            /// All of them.
            pub const ALL: &[Self] = &[$( Self::$kind ),*];

            /// The advice on how to solve the problem.
            #[must_use]
            pub fn advice(self) -> &'static str {
                match self {
                    $( Self::$kind => $advice, )*
                }
            }
        }
    };
}

kinds! {
    /// The key is missing or wrong.
    Authentication: "give another key"
    /// The key is valid, and not allowed to do this.
    Permission: "use a model or an account that the key may use"
    /// The model or the address does not exist.
    NotFound: "check the model's name and the address"
    /// Too many requests.
    RateLimit: "wait, then try again"
    /// The account's quota or credit is used up.
    Quota: "raise the account's limit, or add credit"
    /// The conversation is longer than the model can read.
    ContextTooLong: "begin a new conversation, or leave out a part of this one"
    /// The request is at fault.
    InvalidRequest: "change the request: sending it again will not help"
    /// The model refused to answer, or a hook of the app refused the request or the answer.
    Refused: "ask in other words"
    /// The provider's filter stopped the request or the answer.
    ContentFilter: "ask in other words"
    /// The answer is empty, is not of the type that was asked for, or has calls that cannot be read.
    OutputInvalid: "make the type simpler, allow more retries, or ask another model"
    /// A limit was reached: the turn's, the agent's own, or the model's limit of tokens, which cut the answer off.
    LimitReached: "raise the limit, or send another message to continue"
    /// A tool, or other code of the app, failed.
    ToolFailed: "fix the app's own code"
    /// The provider or the agent is at fault.
    ServerError: "try again later"
    /// The provider or the model has too much to do.
    Overloaded: "try again later, or another model"
    /// The response is not an answer in the provider's format.
    InvalidResponse: "check that the address and the provider's format belong together"
    /// The model's server cannot be reached, or the connection broke.
    Connection: "check the address and the network"
    /// The request or the turn took too long.
    Timeout: "send the message again, or allow it more time"
    /// The messages could not be stored.
    Store: "check the store"
    /// Another turn of the conversation is under way.
    Busy: "wait for the turn, or say what happens instead (`when_busy`)"
    /// The user or the app stopped the turn.
    Cancelled: "send the message again if that was not meant"
    /// The program uses the library in a way that cannot work.
    Misuse: "change the program as the message says"
}

impl ErrorKind {
    /// The kind of a retry that was stored without one.
    pub(super) fn of_old_retry() -> Self {
        Self::ServerError
    }
}

impl Outcome {
    /// Returns the reason why the turn has no complete answer; `None` if the answer is complete.
    #[must_use]
    pub fn problem(&self) -> Option<Problem> {
        let (kind, message) = match self {
            Self::Success => return None,
            Self::Incomplete { reason } => (reason.problem(), reason.to_string()),
            Self::LimitReached { limit } => (ErrorKind::LimitReached, limit.to_string()),
            Self::Cancelled => (ErrorKind::Cancelled, "the turn was stopped".to_owned()),
            Self::Truncated => (
                ErrorKind::Connection,
                "the stream ended before the answer did".to_owned(),
            ),
            Self::Failed { failure } => (failure.problem(), failure.sentence()),
        };
        let is_retryable = match self {
            Self::Truncated => true,
            Self::Failed { failure } => failure.is_transient(),
            _ => false,
        };
        Some(Problem {
            kind,
            message,
            advice: kind.advice(),
            is_retryable,
            status: match self {
                Self::Failed {
                    failure: Failure::Api { error },
                } => Some(error.status),
                _ => None,
            },
            model: None,
        })
    }
}

impl Incomplete {
    fn problem(self) -> ErrorKind {
        match self {
            Self::Length => ErrorKind::LimitReached,
            Self::ContentFilter => ErrorKind::ContentFilter,
            Self::Refusal => ErrorKind::Refused,
            Self::Limit => ErrorKind::LimitReached,
            Self::Empty => ErrorKind::OutputInvalid,
        }
    }
}

impl Failure {
    /// A sentence that describes the problem.
    fn sentence(&self) -> String {
        match self.kind() {
            Some(ApiErrorKind::UnreadableOutput) => {
                format!("the model wrote a call that the provider could not read: {self}")
            }
            _ => self.to_string(),
        }
    }

    /// Returns the kind of problem that the failure is.
    pub(in crate::run) fn problem(&self) -> ErrorKind {
        if let Some(kind) = self.kind() {
            return match kind {
                ApiErrorKind::Authentication => ErrorKind::Authentication,
                ApiErrorKind::Permission => ErrorKind::Permission,
                ApiErrorKind::Quota => ErrorKind::Quota,
                ApiErrorKind::RateLimit => ErrorKind::RateLimit,
                ApiErrorKind::InvalidRequest => ErrorKind::InvalidRequest,
                ApiErrorKind::NotFound => ErrorKind::NotFound,
                ApiErrorKind::Overloaded => ErrorKind::Overloaded,
                ApiErrorKind::ContextTooLong => ErrorKind::ContextTooLong,
                ApiErrorKind::ContentFilter => ErrorKind::ContentFilter,
                ApiErrorKind::UnreadableOutput => ErrorKind::OutputInvalid,
                _ => ErrorKind::ServerError,
            };
        }
        match self {
            Self::Api { .. } | Self::Reported { .. } => ErrorKind::ServerError,
            Self::Connection { .. } | Self::RunNotCreated { .. } => ErrorKind::Connection,
            Self::UnexpectedBody { .. } | Self::Stream { .. } => ErrorKind::InvalidResponse,
            Self::TimedOut {
                deadline: Deadline::Silence | Deadline::Turn,
            } => ErrorKind::Timeout,
            Self::NotStored { .. } => ErrorKind::Store,
            Self::Busy => ErrorKind::Busy,
            Self::LimitReached { .. } => ErrorKind::LimitReached,
            Self::ContextTooLong { .. } => ErrorKind::ContextTooLong,
            Self::AttachmentRefused { .. } => ErrorKind::InvalidRequest,
            Self::OutputInvalid { .. } => ErrorKind::OutputInvalid,
            Self::NotAuthorized { .. } => ErrorKind::Authentication,
            Self::NoInstructions { .. } | Self::ToolFailed { .. } => ErrorKind::ToolFailed,
            Self::Misuse { .. } => ErrorKind::Misuse,
            Self::RefusedByHook { .. } => ErrorKind::Refused,
        }
    }
}
