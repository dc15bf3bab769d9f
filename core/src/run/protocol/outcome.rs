use super::answer_text::AnswerText;
use super::block::TurnStatus;
use super::hook::HookMoment;
use super::limit::TurnLimit;
use crate::conversation::RunFailure;
use crate::dialect::{ApiError, ApiErrorKind, DecodeError, is_transient_in_stream, wait_in_words};
use crate::pipeline::StreamError;
use crate::unquoted::unquoted;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Outcome {
    /// The answer is whole.
    Success,
    /// The model stopped before its answer was whole. What it said stands.
    Incomplete {
        /// Why.
        reason: Incomplete,
    },
    /// The model asked for tools beyond a limit of the turn; what was said so far stands.
    LimitReached {
        /// The limit.
        limit: TurnLimit,
    },
    /// The user, or the agent, stopped it.
    Cancelled,
    /// The stream ended before the answer did. What came of it is kept.
    Truncated,
    /// It went wrong. What was said so far is kept.
    Failed {
        /// Why.
        failure: Failure,
    },
}

impl Outcome {
    /// Where a turn stands in the store that ended so.
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

/// Why a model stopped before its answer was whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Incomplete {
    /// The answer was cut off at the most tokens that it may have, or that the model can read and write.
    #[error("the answer was cut off: it has as many tokens as it may have")]
    Length,
    /// The provider's filter stopped it.
    #[error("the provider's filter stopped the answer")]
    ContentFilter,
    /// The model refused to answer.
    #[error("the model refused to answer")]
    Refusal,
    /// The agent, or the provider, came to a limit of its own.
    #[error("the agent, or the provider, stopped the answer at a limit of its own")]
    Limit,
    /// The model ended without text, a tool call or media; see
    /// [`EmptyAnswerPolicy`](crate::run::EmptyAnswerPolicy).
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

    /// Its name, as a stop reason: `length`, …
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

    /// What a stop reason in a provider's word stands for; nothing if the answer is whole, or the word is not known. The
    /// providers' words are apart, so one table is for all of them.
    #[must_use]
    pub fn of(stop_reason: &str) -> Option<Self> {
        Some(match stop_reason.to_ascii_lowercase().as_str() {
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "model_length"
            | "model_context_window_exceeded" => Self::Length,
            "content_filter"
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
            // Anthropic's `pause_turn` and `compaction`, where the turn may not go on.
            "limit"
            | "incomplete"
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

/// Why a turn failed: the peer's fault, or the transport's.
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
        /// The transport's words.
        message: String,
    },
    /// The answer is no stream: a web page, say.
    #[error("the answer (`{content_type}`) is not a stream: {excerpt}")]
    UnexpectedBody {
        /// The answer's media type; empty if it has none.
        content_type: String,
        /// Its beginning.
        excerpt: String,
    },
    /// The stream breaks its format or the protocol.
    #[error("the stream cannot be read: {message}")]
    Stream {
        /// What is wrong, and in which frame.
        message: String,
    },
    /// The stream itself reported a failure.
    #[error("the model's run failed: {error}")]
    Reported {
        /// The failure.
        #[source]
        error: RunFailure,
        /// What kind of error it is, where its code or its words say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ApiErrorKind>,
    },
    /// It took too long.
    #[error("timed out: {deadline}")]
    TimedOut {
        /// What took too long.
        deadline: Deadline,
    },
    /// The backend did not create the next run. The tools' results are in the history: a new turn sends them.
    #[error("the next run could not be created: {message}")]
    RunNotCreated {
        /// The host's words.
        message: String,
    },
    /// What was said could not be stored.
    #[error("the turn could not be stored: {message}")]
    NotStored {
        /// The store's words.
        message: String,
    },
    /// The model asked for tools beyond a limit of the turn, and the policy is to fail; or an answer went beyond what
    /// one may bring ([`Limits::answer`](crate::run::Limits::answer)): it was cut off, so it is no success.
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
        /// How many tokens the request would have had, as far as can be told.
        tokens: u64,
        /// How many it may have: the model's window without what is kept for the answer.
        window: u64,
    },
    /// The user attached what the provider does not take: the request was not sent.
    #[error("{message}")]
    AttachmentRefused {
        /// What it does not take, and what to do.
        message: String,
    },
    /// The model did not give the typed answer that it was asked for, however often it was told what does not fit.
    #[error("the answer is not what was asked for")]
    OutputInvalid {
        /// What does not fit, and where.
        reason: String,
        /// The last answer, as the model wrote it.
        text: AnswerText,
    },
    /// Another turn of the thread is under way, and the app did not ask to cancel it: nothing was sent, and the thread is
    /// as it was.
    #[error("another turn of this thread is under way")]
    Busy,
    /// A tool cannot run as the app has set it up: the value that it wants of the app is not there, say. The model was not
    /// told.
    #[error("the tool `{tool}` is not set up: {message}")]
    ToolNotSetUp {
        /// The tool.
        tool: String,
        /// What is wrong.
        message: String,
    },
    /// The app's own code did not make the instructions of the turn: nothing was sent.
    #[error("the instructions could not be made: {message}")]
    NoInstructions {
        /// The app's words.
        message: String,
    },
    /// The app did not give the credentials of a request: the request was not sent.
    #[error("there are no credentials for the request: {message}")]
    NotAuthorized {
        /// The app's words.
        message: String,
    },
    /// A hook of the app's refused the request or the answer, or failed.
    #[error("the hook `{hook}` refused ({moment}): {reason}")]
    RefusedByHook {
        /// The hook's name.
        hook: String,
        /// When.
        moment: HookMoment,
        /// The hook's words.
        reason: String,
    },
}

/// The things that may take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Deadline {
    /// The model's silence.
    #[error("the model was silent for too long")]
    Silence,
    /// The turn as a whole.
    #[error("the turn took too long")]
    Turn,
}

impl Failure {
    /// The failure that a stream reported, with what kind of error it is.
    #[must_use]
    pub fn reported(error: RunFailure) -> Self {
        let kind = error.kind.as_deref().and_then(ApiErrorKind::named);
        let kind = kind.or_else(|| ApiErrorKind::of_stream(error.code.as_deref(), &error.message));
        Self::Reported { error, kind }
    }

    /// The failure that a stop reason in a provider's word stands for; nothing if it stands for none.
    pub(in crate::run) fn of_stop(stop_reason: &str) -> Option<Self> {
        let kind = match stop_reason.to_ascii_lowercase().as_str() {
            "malformed_function_call" | "malformed_response" | "unexpected_tool_call" => {
                ApiErrorKind::UnreadableOutput
            }
            "error" | "no_image" | "image_other" | "other" => ApiErrorKind::Unavailable,
            "missing_thought_signature" => ApiErrorKind::BadRequest,
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

    /// Why a stream cannot be read any further.
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

    /// What kind of error the provider answered with or reported, if it was the provider and its words say.
    #[must_use]
    pub fn kind(&self) -> Option<ApiErrorKind> {
        match self {
            Self::Api { error } => Some(error.kind),
            Self::Reported { kind, .. } => *kind,
            _ => None,
        }
    }

    /// The wait before the next try that the provider asks for in its answer or in its stream. One that came in a header is
    /// the host's to hand on.
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

    /// Whether trying again, from the start, may help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Api { error } => error.is_transient(),
            Self::Reported { error, kind } => {
                is_transient_in_stream(*kind, error.code.as_deref(), &error.message)
            }
            Self::Connection { .. }
            | Self::TimedOut {
                deadline: Deadline::Silence,
            } => true,
            _ => false,
        }
    }
}

impl Outcome {
    /// The limit that the turn ended at, if it did.
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
