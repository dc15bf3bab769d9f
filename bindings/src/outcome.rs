mod into_core;
mod problem;

use crate::hook::HookMoment;
use crate::same::same;
use crate::time::Duration;
pub use problem::{Problem, ProblemKind, problem_of};
#[cfg(feature = "agent")]
pub use problem::{TurnError, require_whole};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stepwell_core::{Usd, dialect, event, run};

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Enum)]
#[serde(
    tag = "outcome",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    remote = "Self"
)]
pub enum Outcome {
    /// The answer is whole.
    Success,
    /// The model stopped before its answer was whole. What it said stands.
    Incomplete {
        /// Why.
        reason: Incomplete,
        /// The same in a sentence.
        message: String,
    },
    /// The model asked for tools beyond a limit of the turn; what was said so far stands.
    LimitReached {
        /// The limit.
        limit: TurnLimit,
        /// The same in a sentence.
        message: String,
    },
    /// The user, or the agent, stopped it.
    Cancelled,
    /// The stream ended before the answer did. What came of it is kept.
    Truncated,
    /// It went wrong. What was said so far is kept.
    Failed {
        /// Why.
        failure: Failure,
        /// The same in a sentence, for the user.
        message: String,
        /// Whether trying again, from the start, may help.
        transient: bool,
    },
}

/// In JSON what kept the turn from a whole answer stands beside it.
impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten, serialize_with = "Outcome::serialize")]
            outcome: &'a Outcome,
            #[serde(skip_serializing_if = "Option::is_none")]
            problem: Option<Problem>,
        }
        let whole = Whole {
            outcome: self,
            problem: problem_of(self.clone()),
        };
        whole.serialize(to)
    }
}

/// The problem is no part of it: it follows from the rest.
impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

/// Why a model stopped before its answer was whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum Incomplete {
    /// The answer was cut off at the most tokens that it may have, or that the model can read and write.
    Length,
    /// The provider's filter stopped it.
    ContentFilter,
    /// The model refused to answer.
    Refusal,
    /// The agent came to a limit of its own.
    Limit,
    /// The model ended without text, a tool call or media.
    Empty,
}

/// Why a turn failed: the peer's fault, or the transport's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Enum)]
#[serde(
    tag = "failure",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Failure {
    /// The provider answered with an HTTP error.
    Api {
        /// What kind of error it is, so that the app can act on it.
        kind: ApiErrorKind,
        /// The HTTP status.
        status: u16,
        /// The provider's own words.
        message: String,
        /// The provider's own code or type for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// The wait that the answer's body asks for before the next try.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[serde(rename = "retryAfterMs")]
        retry_after: Option<Duration>,
    },
    /// The request could not be sent, or the connection broke.
    Connection {
        /// The transport's words.
        message: String,
    },
    /// The answer is no stream: a web page, say.
    UnexpectedBody {
        /// The answer's media type.
        content_type: String,
        /// Its beginning.
        excerpt: String,
    },
    /// The stream breaks its format or the protocol.
    Stream {
        /// What is wrong, and in which frame.
        message: String,
    },
    /// The stream itself reported a failure.
    Reported {
        /// What went wrong, in the peer's words.
        message: String,
        /// The peer's code for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// What kind of error it is, where its code or its words say.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<ApiErrorKind>,
    },
    /// It took too long.
    TimedOut {
        /// What took too long.
        deadline: Deadline,
    },
    /// The backend did not create the next run. The tools' results are in the history: a new turn sends them.
    RunNotCreated {
        /// The app's words.
        message: String,
    },
    /// What was said could not be stored.
    NotStored {
        /// The store's words.
        message: String,
    },
    /// The model asked for tools beyond a limit of the turn, and the policy is to fail.
    LimitReached {
        /// The limit.
        limit: TurnLimit,
    },
    /// The conversation does not fit the model's context window: the request was not sent.
    ContextTooLong {
        /// How many tokens the request would have had, as far as can be told.
        tokens: u64,
        /// How many it may have: the model's window, without what is kept for the answer.
        window: u64,
    },
    /// The user attached what the provider does not take: the request was not sent.
    AttachmentRefused {
        /// What it does not take, and what to do.
        message: String,
    },
    /// The model did not give the typed answer that it was asked for, however often it was told what does not fit.
    OutputInvalid {
        /// What does not fit, and where.
        reason: String,
        /// The last answer, as the model wrote it.
        text: String,
    },
    /// Another turn of the thread is under way, and the app did not ask to cancel it: nothing was sent, and the thread is
    /// as it was.
    Busy,
    /// A tool cannot run as the app has set it up. The model was not told.
    ToolNotSetUp {
        /// The tool.
        tool: String,
        /// What is wrong.
        message: String,
    },
    /// The app's own code did not make the instructions of the turn: nothing was sent.
    NoInstructions {
        /// The app's words.
        message: String,
    },
    /// The app did not give the credentials of a request: the request was not sent.
    NotAuthorized {
        /// The app's words.
        message: String,
    },
    /// A hook of the app's refused the request or the answer, or failed.
    RefusedByHook {
        /// The hook's name.
        hook: String,
        /// When.
        moment: HookMoment,
        /// The hook's words.
        reason: String,
    },
}

/// The kinds of a provider's errors that an app acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
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
    /// The model wrote a call, or a typed answer, that the provider could not read: the same request often works at once.
    UnreadableOutput,
}

/// The things that may take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum Deadline {
    /// The model's silence.
    Silence,
    /// The turn as a whole.
    Turn,
}

/// How many tokens a turn used, and what they cost, over all its hops. An absent count is unknown, not zero.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
pub struct TokenUsage {
    /// Tokens of the requests.
    pub input_tokens: Option<u64>,
    /// Tokens of the answers.
    pub output_tokens: Option<u64>,
    /// All tokens, as the provider counts them.
    pub total_tokens: Option<u64>,
    /// Tokens of the answers that were reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Tokens of the requests that came from a cache.
    pub cached_input_tokens: Option<u64>,
    /// Tokens of the requests that were written to a cache.
    pub cache_write_input_tokens: Option<u64>,
    /// What they cost, in US dollars: as the provider says it, else by the model's price. Absent where neither is known.
    pub cost: Option<f64>,
}

impl From<event::TokenUsage> for TokenUsage {
    fn from(usage: event::TokenUsage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            total_tokens: usage.total_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_input_tokens: usage.cache_write_input_tokens,
            cost: usage.cost.map(Usd::dollars),
        }
    }
}

impl From<run::Outcome> for Outcome {
    fn from(outcome: run::Outcome) -> Self {
        match outcome {
            run::Outcome::Success => Self::Success,
            run::Outcome::Incomplete { reason } => Self::Incomplete {
                message: reason.to_string(),
                reason: reason.into(),
            },
            run::Outcome::LimitReached { limit } => Self::LimitReached {
                message: limit.to_string(),
                limit: limit.into(),
            },
            run::Outcome::Cancelled => Self::Cancelled,
            run::Outcome::Truncated => Self::Truncated,
            run::Outcome::Failed { failure } => Self::Failed {
                message: failure.to_string(),
                transient: failure.is_transient(),
                failure: failure.into(),
            },
        }
    }
}

same!(
    Incomplete = run::Incomplete {
        Length,
        ContentFilter,
        Refusal,
        Limit,
        Empty
    }
);
same!(Deadline = run::Deadline { Silence, Turn });

impl From<run::Failure> for Failure {
    fn from(failure: run::Failure) -> Self {
        match failure {
            run::Failure::Api { error } => Self::Api {
                kind: error.kind.into(),
                status: error.status,
                message: error.message,
                code: error.code,
                retry_after: error.retry_after.map(Into::into),
            },
            run::Failure::Connection { message } => Self::Connection { message },
            run::Failure::UnexpectedBody {
                content_type,
                excerpt,
            } => Self::UnexpectedBody {
                content_type,
                excerpt,
            },
            run::Failure::Stream { message } => Self::Stream { message },
            run::Failure::Reported { error, kind } => Self::Reported {
                message: error.message,
                code: error.code,
                kind: kind.map(Into::into),
            },
            run::Failure::TimedOut { deadline } => Self::TimedOut {
                deadline: deadline.into(),
            },
            run::Failure::RunNotCreated { message } => Self::RunNotCreated { message },
            run::Failure::NotStored { message } => Self::NotStored { message },
            run::Failure::LimitReached { limit } => Self::LimitReached {
                limit: limit.into(),
            },
            run::Failure::ContextTooLong { tokens, window } => {
                Self::ContextTooLong { tokens, window }
            }
            run::Failure::AttachmentRefused { message } => Self::AttachmentRefused { message },
            run::Failure::OutputInvalid { reason, text } => Self::OutputInvalid {
                reason,
                text: text.into_string(),
            },
            run::Failure::Busy => Self::Busy,
            run::Failure::ToolNotSetUp { tool, message } => Self::ToolNotSetUp { tool, message },
            run::Failure::NoInstructions { message } => Self::NoInstructions { message },
            run::Failure::NotAuthorized { message } => Self::NotAuthorized { message },
            run::Failure::RefusedByHook {
                hook,
                moment,
                reason,
            } => Self::RefusedByHook {
                hook,
                moment: moment.into(),
                reason,
            },
        }
    }
}

same!(
    ApiErrorKind = dialect::ApiErrorKind {
        Authentication,
        RateLimit,
        BadRequest,
        NotFound,
        Unavailable,
        Overloaded,
        ContextTooLong,
        ContentFiltered,
        UnreadableOutput,
    }
);

/// A limit that a turn has reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Enum)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum TurnLimit {
    /// The rounds of tools.
    MaxToolRounds {
        /// How many it may have.
        max: u32,
    },
    /// The tool calls.
    MaxToolCalls {
        /// How many it may make.
        max: u32,
    },
    /// The tokens.
    MaxTokens {
        /// How many it may use.
        max: u64,
    },
    /// The money.
    MaxCost {
        /// What it may cost, in US dollars.
        max: f64,
    },
    /// The time.
    MaxDuration {
        /// How long it may take.
        #[serde(rename = "maxMs")]
        max: Duration,
    },
    /// The model goes in a circle.
    NoProgress {
        /// The tool.
        tool: String,
        /// How often it was asked for with the same arguments.
        times: u32,
    },
    /// What one answer may bring.
    MaxAnswerBytes {
        /// How many bytes.
        max: u64,
    },
    /// The calls of one answer.
    MaxAnswerCalls {
        /// How many it may leave without a result.
        max: u32,
    },
}

impl From<run::TurnLimit> for TurnLimit {
    fn from(limit: run::TurnLimit) -> Self {
        match limit {
            run::TurnLimit::MaxToolRounds { max } => Self::MaxToolRounds { max },
            run::TurnLimit::MaxToolCalls { max } => Self::MaxToolCalls { max },
            run::TurnLimit::MaxTokens { max } => Self::MaxTokens { max },
            run::TurnLimit::MaxCost { max } => Self::MaxCost { max: max.dollars() },
            run::TurnLimit::MaxDuration { max_ms } => Self::MaxDuration {
                max: Duration::from_millis(max_ms),
            },
            run::TurnLimit::NoProgress { tool, times } => Self::NoProgress { tool, times },
            run::TurnLimit::MaxAnswerBytes { max } => Self::MaxAnswerBytes { max },
            run::TurnLimit::MaxAnswerCalls { max } => Self::MaxAnswerCalls { max },
        }
    }
}
