//! The reasons why a turn has no complete answer, by what an app can do about them.

use super::outcome::{Deadline, Failure, Incomplete, Outcome};
use crate::dialect::ApiErrorKind;
use serde::Serialize;
use std::fmt;

/// The reason why a turn has no complete answer: [`Outcome::problem`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Problem {
    /// The kind, for the app to act on.
    pub kind: ProblemKind,
    /// A sentence that describes the problem.
    pub message: String,
    /// The advice on how to solve the problem.
    pub advice: &'static str,
    /// Whether the same request may succeed another time.
    #[serde(rename = "retryable")]
    pub is_retryable: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.advice)
    }
}

macro_rules! kinds {
    ($( $(#[$doc:meta])* $kind:ident: $advice:literal )*) => {
        /// The kind of a problem, for an app to act on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "camelCase")]
        #[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
        #[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
        pub enum ProblemKind {
            $( $(#[$doc])* $kind, )*
        }

        impl ProblemKind {
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
    /// The key is missing, wrong, or not allowed to do this.
    Authentication: "give another key"
    /// Too many requests, or the quota is used up.
    RateLimit: "wait, or see whether the quota is used up"
    /// The request is at fault.
    InvalidRequest: "change the request: sending it again will not help"
    /// The model or the address does not exist.
    NotFound: "look at the model's name and the address"
    /// The provider is at fault.
    ServerError: "try again later"
    /// The provider or the model has too much to do.
    Overloaded: "try again later, or another model"
    /// The conversation is longer than the model can read.
    ContextTooLong: "begin a new conversation, or leave out a part of this one"
    /// The provider's filter stopped the request or the answer.
    ContentFiltered: "ask in other words"
    /// The model refused to answer.
    Refused: "ask in other words"
    /// The answer was cut off at the model's limit of tokens.
    Cut: "ask for less at once, or allow an answer more tokens"
    /// The model ended without text, a tool call or media.
    EmptyAnswer: "send the message again, or say that an empty answer is fine"
    /// A limit of the turn was reached, or one of the agent's own.
    LimitReached: "raise the limit, or send another message to go on"
    /// The model's server cannot be reached, or the connection broke.
    ConnectionFailed: "check the address and the network"
    /// The request or the turn took too long.
    TimedOut: "send the message again, or allow it more time"
    /// The response is not an answer in the provider's format.
    Unreadable: "check that the address and the provider's format belong together"
    /// The model did not give the typed answer that it was asked for.
    OutputInvalid: "make the type simpler, allow more retries, or ask another model"
    /// The agent reported that its run failed, without a known reason.
    AgentFailed: "see what it says; send the message again if that may help"
    /// The app's own code for the turn failed.
    AppFailed: "see to the app's own code, which says why"
    /// A hook of the app refused the request or the answer, or failed.
    RefusedByHook: "ask for something else, or see to the hook, which says why"
    /// The messages could not be stored.
    NotStored: "see to the store"
    /// Another turn of the thread is in progress.
    Busy: "give each user and each transcript a thread of its own (`agent.thread(id)`), wait for the turn, or cancel it \
        first (`when_busy`)"
    /// The user or the agent stopped the turn.
    Stopped: "send the message again if that was not meant"
}

impl Outcome {
    /// Returns the reason why the turn has no complete answer; `None` if the answer is complete.
    #[must_use]
    pub fn problem(&self) -> Option<Problem> {
        let (kind, message) = match self {
            Self::Success => return None,
            Self::Incomplete { reason } => (reason.problem(), reason.to_string()),
            Self::LimitReached { limit } => (ProblemKind::LimitReached, limit.to_string()),
            Self::Cancelled => (ProblemKind::Stopped, "the turn was stopped".to_owned()),
            Self::Truncated => (
                ProblemKind::ConnectionFailed,
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
        })
    }
}

impl Incomplete {
    fn problem(self) -> ProblemKind {
        match self {
            Self::Length => ProblemKind::Cut,
            Self::ContentFilter => ProblemKind::ContentFiltered,
            Self::Refusal => ProblemKind::Refused,
            Self::Limit => ProblemKind::LimitReached,
            Self::Empty => ProblemKind::EmptyAnswer,
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

    fn problem(&self) -> ProblemKind {
        if let Some(kind) = self.kind() {
            return match kind {
                ApiErrorKind::Authentication => ProblemKind::Authentication,
                ApiErrorKind::RateLimit => ProblemKind::RateLimit,
                ApiErrorKind::BadRequest => ProblemKind::InvalidRequest,
                ApiErrorKind::NotFound => ProblemKind::NotFound,
                ApiErrorKind::Overloaded => ProblemKind::Overloaded,
                ApiErrorKind::ContextTooLong => ProblemKind::ContextTooLong,
                ApiErrorKind::ContentFiltered => ProblemKind::ContentFiltered,
                _ => ProblemKind::ServerError,
            };
        }
        match self {
            Self::Api { .. } | Self::Reported { .. } => ProblemKind::AgentFailed,
            Self::Connection { .. } | Self::RunNotCreated { .. } => ProblemKind::ConnectionFailed,
            Self::UnexpectedBody { .. } | Self::Stream { .. } => ProblemKind::Unreadable,
            Self::TimedOut {
                deadline: Deadline::Silence | Deadline::Turn,
            } => ProblemKind::TimedOut,
            Self::NotStored { .. } => ProblemKind::NotStored,
            Self::Busy => ProblemKind::Busy,
            Self::LimitReached { .. } => ProblemKind::LimitReached,
            Self::ContextTooLong { .. } => ProblemKind::ContextTooLong,
            Self::AttachmentRefused { .. } => ProblemKind::InvalidRequest,
            Self::OutputInvalid { .. } => ProblemKind::OutputInvalid,
            Self::NotAuthorized { .. } => ProblemKind::Authentication,
            Self::NoInstructions { .. } | Self::ToolNotSetUp { .. } => ProblemKind::AppFailed,
            Self::RefusedByHook { .. } => ProblemKind::RefusedByHook,
        }
    }
}
