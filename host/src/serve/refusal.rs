use super::openapi::CHAT_PATH;
use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use std::time::Duration;
use stepwell_io::store::StoreError;
use stepwell_serve::parts::{EngineError, FollowError, UnusableTurnTools};
use stepwell_serve::{Refused, RefusedReason};

/// Why a request is answered with an HTTP error: no run began.
#[derive(Debug)]
pub(super) struct Refusal {
    code: Code,
    /// For people: the fault, and what to do.
    message: String,
    /// The number of seconds after which the same request may succeed.
    retry_after: Option<u64>,
}

macro_rules! codes {
    ($( $(#[$doc:meta])* $code:ident = $status:ident, )*) => {
        /// The reason, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum Code {
            $( $(#[$doc])* $code, )*
        }

        impl Code {
            #[cfg(test)]
            pub(super) const ALL: &[Self] = &[$( Self::$code, )*];

            pub(super) fn status(self) -> StatusCode {
                match self {
                    $( Self::$code => StatusCode::$status, )*
                }
            }
        }
    };
}

codes! {
    /// The path cannot be read.
    InvalidPath = BAD_REQUEST,
    /// The query cannot be read.
    InvalidQuery = BAD_REQUEST,
    /// The request names several hosts.
    InvalidHost = BAD_REQUEST,
    /// The body is not JSON.
    InvalidJson = BAD_REQUEST,
    /// The body broke off.
    BodyIncomplete = BAD_REQUEST,
    /// The token is missing or wrong.
    Unauthorized = UNAUTHORIZED,
    /// The route is for the server's own token.
    Forbidden = FORBIDDEN,
    /// There is nothing at the path.
    NotFound = NOT_FOUND,
    /// There is no such agent.
    NoAgent = NOT_FOUND,
    /// The store has no such thread.
    NoThread = NOT_FOUND,
    /// The store has no such turn.
    NoTurn = NOT_FOUND,
    /// The turn has no such call under way.
    NoCall = NOT_FOUND,
    /// No journal of the turn is kept here, or none that may be shown.
    NoJournal = NOT_FOUND,
    /// The requested part of a turn's log is not kept any more.
    LogDropped = GONE,
    /// The path does not take the method.
    MethodNotAllowed = METHOD_NOT_ALLOWED,
    /// The answer cannot be had as the client wants it.
    NotAcceptable = NOT_ACCEPTABLE,
    /// The body did not come in time.
    BodyTimeout = REQUEST_TIMEOUT,
    /// The run is under way already.
    RunUnderWay = CONFLICT,
    /// The thread has a turn of this id, or another one under way.
    TurnExists = CONFLICT,
    /// No result of the call is awaited.
    CallNotWaiting = CONFLICT,
    /// The user has reached the limit of threads.
    TooManyThreads = CONFLICT,
    /// The turn has come to its end.
    TurnOver = CONFLICT,
    /// The body is too long.
    BodyTooLarge = PAYLOAD_TOO_LARGE,
    /// The body is of another type.
    UnsupportedMediaType = UNSUPPORTED_MEDIA_TYPE,
    /// The request goes by a name that may be a stranger's.
    WrongHost = MISDIRECTED_REQUEST,
    /// The body is JSON, but no `RunAgentInput`.
    InvalidInput = UNPROCESSABLE_ENTITY,
    /// A tool of the client's cannot be offered to the model.
    UnusableTool = UNPROCESSABLE_ENTITY,
    /// The answers do not fit what the turn asks.
    AnswerInvalid = UNPROCESSABLE_ENTITY,
    /// The user sends more requests than one may.
    TooManyRequests = TOO_MANY_REQUESTS,
    /// The user has more runs under way than one may.
    TooManyUserRuns = TOO_MANY_REQUESTS,
    /// The user has more streams open than one may.
    TooManyUserStreams = TOO_MANY_REQUESTS,
    /// The user has more turns that wait for an answer than one may.
    TooManyWaitingTurns = TOO_MANY_REQUESTS,
    /// The server cannot begin a run.
    InternalError = INTERNAL_SERVER_ERROR,
    /// The limit of runs under way is reached.
    TooManyRuns = SERVICE_UNAVAILABLE,
    /// All connections are taken.
    TooManyConnections = SERVICE_UNAVAILABLE,
    /// The bodies that are being read take up as much memory as they may.
    TooManyBodies = SERVICE_UNAVAILABLE,
    /// The store cannot be reached or written.
    StoreUnavailable = SERVICE_UNAVAILABLE,
    /// The data of the store cannot be read.
    StoreDamaged = SERVICE_UNAVAILABLE,
    /// The keys by which tokens are verified cannot be had.
    KeysUnavailable = SERVICE_UNAVAILABLE,
    /// The server takes no more runs.
    Stopping = SERVICE_UNAVAILABLE,
}

impl Refusal {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    /// Adds the time after which to try again, of one second at least.
    pub(super) fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Self {
            retry_after: Some(seconds.max(1)),
            ..self
        }
    }

    pub(super) fn store_damaged() -> Self {
        Self::new(
            Code::StoreDamaged,
            "the server's store is damaged, and must be mended or restored: see the server's log",
        )
    }

    pub(super) fn stopping() -> Self {
        Self::new(
            Code::Stopping,
            "the server is stopping: try again in a while",
        )
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let error = json!({ "error": { "code": self.code, "message": self.message } });
        let mut response = (status, Json(error)).into_response();
        let retry_after = match (status, self.code) {
            // A damaged store does not repair itself.
            (_, Code::StoreDamaged) => None,
            (StatusCode::SERVICE_UNAVAILABLE, _) => self.retry_after.or(Some(1)),
            _ => self.retry_after,
        };
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(RefusalText(self.message));
        response
    }
}

/// The message of a refusal, in the extensions of its answer.
#[derive(Clone, Debug)]
struct RefusalText(String);

/// Answers chats of the AI SDK in text where they are refused: the SDK shows the body to the user as it is.
pub(super) async fn as_text_for_chats(request: Request, next: Next) -> Response {
    let is_chat = request.uri().path().starts_with(CHAT_PATH);
    let mut response = next.run(request).await;
    if is_chat && let Some(RefusalText(text)) = response.extensions_mut().remove() {
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, plain);
        *response.body_mut() = text.into();
    }
    response
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NoThread { thread } => {
                // The message has the client's own id: the key names the user, too.
                let message = format!("the store has no thread `{}`", thread.thread);
                return Self::new(Code::NoThread, message);
            }
            StoreError::NoTurn { .. } => Code::NoTurn,
            StoreError::Exists { .. } | StoreError::Busy { .. } | StoreError::Stale { .. } => {
                Code::TurnExists
            }
            StoreError::Closed { .. } => Code::TurnOver,
            StoreError::Refused { .. } | StoreError::Gap { .. } => Code::InvalidInput,
            StoreError::Damaged { .. } => {
                tracing::error!(target: "stepwell", %error, "the store is damaged");
                return Self::store_damaged();
            }
            _ => {
                // Its words may name addresses and files.
                tracing::error!(target: "stepwell", %error, "the store failed");
                let message =
                    "the server cannot reach its store, or not write there: try again in a while";
                return Self::new(Code::StoreUnavailable, message);
            }
        };
        Self::new(code, error.to_string())
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let code = match refused.reason {
            RefusedReason::InvalidJson => Code::InvalidJson,
            RefusedReason::BodyIncomplete => Code::BodyIncomplete,
            RefusedReason::NotAcceptable => Code::NotAcceptable,
            RefusedReason::BodyTimeout => Code::BodyTimeout,
            RefusedReason::RunUnderWay => Code::RunUnderWay,
            RefusedReason::BodyTooLarge => Code::BodyTooLarge,
            RefusedReason::UnsupportedMediaType => Code::UnsupportedMediaType,
            RefusedReason::InvalidInput => Code::InvalidInput,
            RefusedReason::UnusableTool => Code::UnusableTool,
            RefusedReason::TooManyRuns => Code::TooManyRuns,
            RefusedReason::TooManyBodies => Code::TooManyBodies,
            RefusedReason::Stopping => Code::Stopping,
            _ => Code::InternalError,
        };
        Self::new(code, refused.message)
    }
}

impl From<UnusableTurnTools> for Refusal {
    fn from(error: UnusableTurnTools) -> Self {
        match error {
            UnusableTurnTools::TooLong { .. } => Self::new(Code::InvalidInput, error.to_string()),
            UnusableTurnTools::Unusable(error) => Refused::from(error).into(),
        }
    }
}

impl From<FollowError> for Refusal {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Store(error) => error.into(),
            FollowError::NoEvent { .. } => Self::new(Code::InvalidInput, error.to_string()),
        }
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        let code = match &error {
            EngineError::Store(_) => match error {
                EngineError::Store(error) => return error.into(),
                _ => Code::InternalError,
            },
            EngineError::Over => Code::TurnOver,
            EngineError::Contended => Code::TurnExists,
            EngineError::TooManyWaiting { .. } => Code::TooManyWaitingTurns,
            EngineError::Answers(_) => Code::AnswerInvalid,
            EngineError::AnswersElsewhere { .. } => Code::AnswerInvalid,
            EngineError::NoCall { .. } => Code::NoCall,
            EngineError::NotWaiting { .. } => Code::CallNotWaiting,
            EngineError::TooMany { .. } => Code::TooManyRuns,
            EngineError::Stopping => return Self::stopping(),
            EngineError::Internal => Code::InternalError,
        };
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_io::ThreadKey;

    #[test]
    fn a_thread_is_named_as_the_client_names_it() {
        let thread = ThreadKey {
            room: "alice".into(),
            ..ThreadKey::from("t")
        };
        let refused = Refusal::from(StoreError::NoThread { thread });
        assert_eq!(refused.message, "the store has no thread `t`");
    }
}
