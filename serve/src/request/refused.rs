//! Refusals of requests.

use http::StatusCode;
use serde_json::{Value, json};

/// Why a request begins no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// The reason, for programs.
    pub reason: RefusedReason,
    /// For people: what is wrong, and what to do.
    pub message: String,
}

macro_rules! reasons {
    ($( $(#[$doc:meta])* $reason:ident = $code:literal $status:ident, )*) => {
        /// The reason why a request begins no run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum RefusedReason {
            $( $(#[$doc])* $reason, )*
        }

        impl RefusedReason {
            /// Returns the reason's name in a JSON error.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self {
                    $( Self::$reason => $code, )*
                }
            }

            /// The HTTP status of the answer.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self {
                    $( Self::$reason => StatusCode::$status, )*
                }
            }
        }
    };
}

reasons! {
    /// The body is not JSON.
    InvalidJson = "invalid_json" BAD_REQUEST,
    /// The body broke off.
    BodyIncomplete = "body_incomplete" BAD_REQUEST,
    /// The answer cannot be had as the client wants it.
    NotAcceptable = "not_acceptable" NOT_ACCEPTABLE,
    /// The body did not come in time.
    BodyTimeout = "body_timeout" REQUEST_TIMEOUT,
    /// The run is under way already.
    RunUnderWay = "run_under_way" CONFLICT,
    /// The body is too long.
    BodyTooLarge = "body_too_large" PAYLOAD_TOO_LARGE,
    /// The body is of another type.
    UnsupportedMediaType = "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE,
    /// The body is JSON, but not what is taken.
    InvalidInput = "invalid_input" UNPROCESSABLE_ENTITY,
    /// A tool of the client's cannot be offered to the model.
    UnusableTool = "unusable_tool" UNPROCESSABLE_ENTITY,
    /// The server cannot begin a run.
    InternalError = "internal_error" INTERNAL_SERVER_ERROR,
    /// The limit of runs under way is reached.
    TooManyRuns = "too_many_runs" SERVICE_UNAVAILABLE,
    /// The bodies that are being read take up as much memory as they may.
    TooManyBodies = "too_many_bodies" SERVICE_UNAVAILABLE,
    /// The store cannot be reached or written.
    StoreUnavailable = "store_unavailable" SERVICE_UNAVAILABLE,
    /// The server takes no more runs.
    Stopping = "stopping" SERVICE_UNAVAILABLE,
}

impl Refused {
    /// Creates a refusal. The message says what to do.
    #[must_use]
    pub fn new(reason: RefusedReason, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { reason, message }
    }

    /// The server takes no more runs.
    #[must_use]
    pub fn stopping() -> Self {
        Self::new(
            RefusedReason::Stopping,
            "the server is stopping: try again in a while",
        )
    }

    /// The body of the answer: `{"error": {"code": …, "message": …}}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "error": { "code": self.reason.code(), "message": self.message } })
    }
}
