use super::answer_text::AnswerText;
use super::block::TurnStatus;
use super::hook::HookMoment;
use super::limit::TurnLimit;
use super::problem::ErrorKind;
use crate::dialect::{ApiError, ApiErrorKind, DecodeError, wait_in_words};
use crate::pipeline::StreamError;
use crate::transcript::RunFailure;
use crate::unquoted::unquoted;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The end of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Outcome {
    /// The answer is complete.
    Success,
    /// The model stopped before its answer was complete. The received part is kept.
    Incomplete {
        /// The reason.
        reason: Incomplete,
    },
    /// The model called tools beyond a limit of the turn. The received part is kept.
    LimitReached {
        /// The limit.
        limit: TurnLimit,
    },
    /// The user or the agent cancelled the turn.
    Cancelled,
    /// The stream ended before the answer did. The received part is kept.
    Truncated,
    /// The turn failed. The received part is kept.
    Failed {
        /// The reason.
        failure: Failure,
    },
}

impl Outcome {
    /// The stored status of a turn with this end.
    #[must_use]
    pub fn turn_status(&self) -> TurnStatus {
        match self {
            Self::Success | Self::Incomplete { .. } | Self::LimitReached { .. } => {
                TurnStatus::Complete
            }
            Self::Cancelled => TurnStatus::Cancelled,
            Self::Truncated | Self::Failed { .. } => TurnStatus::Failed,
        }
    }
}

/// The reason why a model stopped before its answer was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Incomplete {
    /// The answer was cut off at the maximum number of tokens of an answer, or of the model's context window.
    #[error("the answer was cut off: it has as many tokens as it may have")]
    Length,
    /// The provider's filter stopped the answer.
    #[error("the provider's filter stopped the answer")]
    ContentFilter,
    /// The model refused to answer.
    #[error("the model refused to answer")]
    Refusal,
    /// The agent or the provider reached a limit of its own.
    #[error("the agent, or the provider, stopped the answer at a limit of its own")]
    Limit,
    /// The model ended without text, a tool call or media, as often as it was asked; see
    /// [`RetryPolicy::accept_empty`](crate::run::RetryPolicy::accept_empty).
    #[error("the answer is empty: it has no text, no tool call and no media")]
    Empty,
}

impl Incomplete {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Length,
        Self::ContentFilter,
        Self::Refusal,
        Self::Limit,
        Self::Empty,
    ];

    /// Returns the name as a stop reason: `length`, …
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::Limit => "limit",
            Self::Empty => "empty",
        }
    }

    /// Returns the meaning of a provider's stop reason; `None` if the answer is complete, or the word is unknown. No two
    /// providers use one word differently, so one table serves all of them.
    #[must_use]
    pub fn of(stop_reason: &str) -> Option<Self> {
        Some(match stop_reason.to_ascii_lowercase().as_str() {
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "model_length"
            // An interaction of Gemini that the service stops after so many tokens of one request.
            | "requires_continuation"
            | "model_context_window_exceeded" => Self::Length,
            "content_filter"
            | "content_filtered"
            | "guardrail_intervened"
            | "safety"
            | "recitation"
            | "language"
            | "blocklist"
            | "prohibited_content"
            | "spii"
            | "image_safety"
            | "image_prohibited_content"
            | "image_recitation"
            | "jailbreak"
            | "model_armor" => Self::ContentFilter,
            "refusal" => Self::Refusal,
            // Anthropic's `pause_turn` and `compaction`, where the turn may not continue.
            "limit"
            | "incomplete"
            | "budget_exceeded"
            | "max_tool_rounds"
            | "max_tool_calls"
            | "max_duration"
            | "no_progress"
            | "pause_turn"
            | "compaction"
            | "too_many_tool_calls" => Self::Limit,
            // A served turn's own word.
            "empty" => Self::Empty,
            _ => return None,
        })
    }
}

/// The reason why a turn failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "failure", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Failure {
    /// The provider answered with an HTTP error.
    #[error("{error}")]
    Api {
        /// The error.
        #[source]
        error: ApiError,
    },
    /// The request could not be sent, or the connection broke.
    #[error("the connection failed: {message}")]
    Connection {
        /// The transport's error message.
        message: String,
    },
    /// The answer is not a stream, but a web page for example.
    #[error("the answer (`{content_type}`) is not a stream: {excerpt}")]
    UnexpectedBody {
        /// The media type of the answer; empty if it has none.
        content_type: String,
        /// The beginning of the answer.
        excerpt: String,
    },
    /// The stream breaks its format or the protocol.
    #[error("the stream cannot be read: {message}")]
    Stream {
        /// The fault, and the frame that has it.
        message: String,
    },
    /// The stream itself reported a failure.
    #[error("the model's run failed: {error}")]
    Reported {
        /// The failure.
        #[source]
        error: RunFailure,
        /// The kind of error, if the code or the message reveals it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ApiErrorKind>,
    },
    /// A deadline passed.
    #[error("timed out: {deadline}")]
    TimedOut {
        /// The deadline.
        deadline: Deadline,
    },
    /// The backend did not create the next run. The results of the tools are in the history, and a new turn sends them.
    #[error("the next run could not be created: {message}")]
    RunNotCreated {
        /// The host's error message.
        message: String,
    },
    /// The blocks could not be stored.
    #[error("the turn could not be stored: {message}")]
    NotStored {
        /// The store's error message.
        message: String,
    },
    /// The model called tools beyond a limit of the turn, and the policy is to fail. Or an answer exceeded
    /// [`Limits::answer`](crate::run::Limits::answer) and was cut off.
    #[error("{limit}")]
    LimitReached {
        /// The limit.
        limit: TurnLimit,
    },
    /// The conversation does not fit the model's context window: the request was not sent. See
    /// [`ContextGuard`](crate::run::ContextGuard).
    #[error(
        "the conversation is too long for the model: some {tokens} tokens, and a request may have {window}"
    )]
    ContextTooLong {
        /// The estimated number of tokens of the request.
        tokens: u64,
        /// The limit: the model's window without the room for the answer.
        window: u64,
    },
    /// The provider does not support an attachment of the user: the request was not sent.
    #[error("{message}")]
    AttachmentRefused {
        /// The attachment, and what to do.
        message: String,
    },
    /// The model did not give the typed answer, although it was asked to correct it up to the allowed number of times.
    #[error("the answer is not what was asked for")]
    OutputInvalid {
        /// The description of what does not fit, and where.
        reason: String,
        /// The text of the last answer.
        text: AnswerText,
    },
    /// Another turn of the conversation is under way, and the app did not ask to cancel it. Nothing was sent, and the
    /// conversation is unchanged.
    #[error("another turn of this conversation is under way")]
    Busy,
    /// A tool of the app failed, and the agent is set up to fail with it.
    #[error("the tool `{tool}` failed: {message}")]
    ToolFailed {
        /// The name of the tool.
        tool: String,
        /// What went wrong, in the tool's words.
        message: String,
    },
    /// The program cannot run the turn as it is set up. Nothing was sent.
    #[error("{message}")]
    Misuse {
        /// What is wrong.
        message: String,
    },
    /// The app's code failed to make the instructions of the turn: nothing was sent.
    #[error("the instructions could not be made: {message}")]
    NoInstructions {
        /// The app's error message.
        message: String,
    },
    /// The app did not supply the credentials of a request: the request was not sent.
    #[error("there are no credentials for the request: {message}")]
    NotAuthorized {
        /// The app's error message.
        message: String,
    },
    /// A hook of the app refused the request or the answer, or failed.
    #[error("the hook `{hook}` refused ({moment}): {reason}")]
    RefusedByHook {
        /// The name of the hook.
        hook: String,
        /// The moment at which the hook was called.
        moment: HookMoment,
        /// The hook's reason.
        reason: String,
    },
}

/// The deadlines of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Deadline {
    /// The silence of the model.
    #[error("the model was silent for too long")]
    Silence,
    /// The complete turn.
    #[error("the turn took too long")]
    Turn,
}

impl Failure {
    /// Returns the failure that a stream reported, with its kind of error.
    #[must_use]
    pub fn reported(error: RunFailure) -> Self {
        let kind = error.kind.as_deref().and_then(ApiErrorKind::named);
        let kind = kind.or_else(|| ApiErrorKind::of_stream(error.code.as_deref(), &error.message));
        Self::Reported { error, kind }
    }

    /// Returns the failure that a provider's stop reason means; `None` if it means none.
    pub(in crate::run) fn of_stop(stop_reason: &str) -> Option<Self> {
        let kind = match stop_reason.to_ascii_lowercase().as_str() {
            "malformed_function_call" | "malformed_response" | "unexpected_tool_call" => {
                ApiErrorKind::UnreadableOutput
            }
            "error" | "no_image" | "image_other" | "other" => ApiErrorKind::ServerError,
            "missing_thought_signature" => ApiErrorKind::InvalidRequest,
            _ => return None,
        };
        Some(Self::Reported {
            error: RunFailure {
                message: format!("the answer ended with `{stop_reason}`"),
                code: Some(stop_reason.to_owned()),
                ..RunFailure::default()
            },
            kind: Some(kind),
        })
    }

    /// Returns the failure of a stream that cannot be read any further.
    pub(in crate::run) fn of_stream(error: &StreamError) -> Self {
        match &error.source {
            DecodeError::Answer(limit) => Self::LimitReached {
                limit: (*limit).into(),
            },
            _ => Self::Stream {
                message: unquoted(&error.to_string()),
            },
        }
    }

    /// Returns the kind of the error, if the provider reported one and its message reveals the kind.
    #[must_use]
    pub fn kind(&self) -> Option<ApiErrorKind> {
        match self {
            Self::Api { error } => Some(error.kind),
            Self::Reported { kind, .. } => *kind,
            _ => None,
        }
    }

    /// Returns the wait before the next attempt that the provider asks for in its answer or in its stream. The host
    /// adds a wait from a header.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api { error } => error.retry_after,
            Self::Reported { error, .. } => {
                error.retry_after.or_else(|| wait_in_words(&error.message))
            }
            _ => None,
        }
    }

    /// Returns the kind of failure as which the [table of retries](crate::run::RetryPolicy) counts this one. `None` if the
    /// stream reported a failure that says nothing of its kind: an agent that failed may have done a part of its work.
    pub(in crate::run) fn retried_as(&self) -> Option<ErrorKind> {
        match self {
            Self::Reported { kind: None, .. } => None,
            _ => Some(self.problem()),
        }
    }

    /// Returns whether a retry from the start may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Api { error } => error.is_transient(),
            Self::Reported { kind, .. } => kind.is_some_and(ApiErrorKind::is_transient),
            Self::Connection { .. }
            | Self::TimedOut {
                deadline: Deadline::Silence,
            } => true,
            _ => false,
        }
    }
}

impl Outcome {
    /// Returns the limit that ended the turn, if one did.
    #[must_use]
    pub fn limit(&self) -> Option<&TurnLimit> {
        match self {
            Self::LimitReached { limit }
            | Self::Failed {
                failure: Failure::LimitReached { limit },
            } => Some(limit),
            _ => None,
        }
    }
}
