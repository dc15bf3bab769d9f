mod problem;

use crate::hook::HookMoment;
use crate::time::Duration;
pub use problem::{ErrorKind, Problem, problem_of};
#[cfg(feature = "agent")]
pub use problem::{TurnError, require_whole};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stepwell_core::dialect::ApiError;
use stepwell_core::transcript::RunFailure;
use stepwell_mirror::mirror;

mirror! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Enum)]
    #[serde(
        tag = "outcome",
        rename_all = "camelCase",
        rename_all_fields = "camelCase",
        remote = "Self"
    )]
    #[mirror(stepwell_core::run::Outcome, both)]
    pub enum Outcome {
        Incomplete {
            /// The same in a sentence.
            message: String = reason.to_string(),
        },
        LimitReached {
            /// The same in a sentence.
            message: String = limit.to_string(),
        },
        Failed {
            /// The same in a sentence, for the user.
            message: String = failure.to_string(),
            /// Whether trying again, from the start, may help.
            transient: bool = failure.is_transient(),
        },
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::Incomplete, both)]
    pub enum Incomplete {
        /// The model ended without text, a tool call or media.
        Empty,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Enum)]
    #[serde(tag = "failure", rename_all = "camelCase", rename_all_fields = "camelCase")]
    #[mirror(stepwell_core::run::Failure, both, first(Api, Connection, UnexpectedBody, Stream, Reported))]
    pub enum Failure {
        - Api => Self::Api {
            kind: error.kind.into(),
            status: error.status,
            message: error.message,
            code: error.code,
            retry_after: error.retry_after.map(Into::into),
        },
        - Reported => Self::Reported {
            message: error.message,
            code: error.code,
            kind: kind.map(Into::into),
        },
        /// The model asked for tools beyond a limit of the turn, and the policy is to fail; or an answer exceeded a
        /// limit and was cut off, so the turn is no success.
        LimitReached,
        /// The conversation does not fit the model's context window: the request was not sent.
        ContextTooLong,
        /// The provider answered with an HTTP error.
        + Api {
            /// The kind of the error, so that the app can act on it.
            kind: ApiErrorKind,
            /// The HTTP status.
            status: u16,
            /// The provider's own words.
            message: String,
            /// The provider's own code or type of the error.
            code: Option<String>,
            /// The wait that the answer's body asks for before the next try.
            retry_after: Option<Duration>,
        } => {
            let mut error = ApiError::from_body(status, b"");
            error.kind = kind.into();
            error.message = message;
            error.code = code;
            error.retry_after = retry_after.map(Into::into);
            Self::Api { error }
        },
        /// The stream itself reported a failure.
        + Reported {
            /// What went wrong, in the peer's words.
            message: String,
            /// The peer's code of the failure.
            code: Option<String>,
            /// The kind of the error, if the peer's code or words reveal it.
            kind: Option<ApiErrorKind>,
        } => Self::Reported {
            error: RunFailure { message, code, ..RunFailure::default() },
            kind: kind.map(Into::into),
        },
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_llm::dialect::ApiErrorKind, both)]
    pub enum ApiErrorKind {
        /// The model wrote a call, or a typed answer, that the provider could not read: the same request often works at
        /// once.
        UnreadableOutput,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::Deadline, both)]
    pub enum Deadline;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Enum)]
    #[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
    #[mirror(stepwell_core::run::TurnLimit, both)]
    pub enum TurnLimit {
        MaxDuration {
            /// The time limit.
            max,
        },
        /// The size of one answer: `Limits.max_answer_bytes`.
        MaxAnswerBytes,
        /// The calls of one answer: `Limits.max_answer_calls`.
        MaxAnswerCalls,
    }

    /// The tokens that a turn used, and their cost, over all its hops. An absent count is unknown, not zero.
    #[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
    #[mirror(stepwell_agui::event::TokenUsage)]
    pub struct TokenUsage {
        - provider,
        - model,
        - extra,
    }
}

/// Writes the outcome. In JSON the problem that left the turn without a complete answer is next to it.
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

/// Reads the outcome without the problem, which follows from the rest.
impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_core::run;

    /// Failures that have the same fields could be mistaken for each other.
    #[test]
    fn a_failure_keeps_its_name_both_ways() {
        let message = || "Words.".to_owned();
        let samples = [
            run::Failure::Connection { message: message() },
            run::Failure::Stream { message: message() },
            run::Failure::RunNotCreated { message: message() },
            run::Failure::NotStored { message: message() },
            run::Failure::AttachmentRefused { message: message() },
            run::Failure::Busy,
            run::Failure::Misuse { message: message() },
            run::Failure::ToolFailed {
                tool: message(),
                message: message(),
            },
            run::Failure::NoInstructions { message: message() },
            run::Failure::NotAuthorized { message: message() },
        ];
        for sample in samples {
            let here = Failure::from(sample.clone());
            let name = |debug: String| debug.split(' ').next().map(str::to_owned);
            assert_eq!(name(format!("{here:?}")), name(format!("{sample:?}")));
            assert_eq!(run::Failure::from(here), sample);
        }
    }
}
