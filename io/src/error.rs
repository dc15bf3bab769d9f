//! The error of an app's side: one type, by kind.

use crate::answer::result::TurnResult;
use crate::http::HttpClientError;
use crate::model::ModelError;
use crate::store::StoreError;
use crate::turn::finished::Finished;
use crate::turn::handle::TurnError;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use stepwell_core::provider::EndpointError;
pub use stepwell_core::run::ErrorKind;
use stepwell_core::run::Outcome;
use stepwell_core::tool::{OutputTypeError, ToolError};

/// What went wrong: why a turn has no answer, or why it could not begin. [`kind`](Self::kind) is for the app to act on,
/// [`advice`](Self::advice) says what to do, and [`source`](StdError::source) has the details.
///
/// The `Display` and `Debug` outputs hold nothing of the conversation and no key.
///
/// ```no_run
/// use stepwell_io::ErrorKind;
///
/// # async fn example(agent: stepwell_io::Agent) {
/// match agent.run("Why is the sky blue?").await {
///     Ok(result) => println!("{}", result.output),
///     Err(error) if error.kind() == ErrorKind::RateLimit => println!("later: {error}"),
///     Err(error) => {
///         println!("{error}");
///         if let Some(so_far) = error.result() {
///             println!("so far: {}", so_far.full_text());
///         }
///     }
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    provider: Option<String>,
    model: Option<String>,
    status: Option<u16>,
    is_retryable: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
    result: Option<Box<TurnResult<()>>>,
}

impl Inner {
    fn new(kind: ErrorKind, message: String) -> Self {
        Self {
            kind,
            message,
            provider: None,
            model: None,
            status: None,
            is_retryable: false,
            source: None,
            result: None,
        }
    }
}

impl From<Inner> for Error {
    fn from(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }
}

impl Error {
    pub(crate) fn of_source(
        kind: ErrorKind,
        source: impl StdError + Send + Sync + 'static,
    ) -> Self {
        let message = source.to_string();
        Self::from(Inner {
            is_retryable: kind == ErrorKind::Store,
            source: Some(Box::new(source)),
            ..Inner::new(kind, message)
        })
    }

    /// Returns the error of a program that uses the library in a way that cannot work.
    pub(crate) fn misuse(message: impl Into<String>) -> Self {
        Inner::new(ErrorKind::Misuse, message.into()).into()
    }

    /// Returns the error of a turn that has no complete answer. `provider` is that of a turn that never began.
    pub(crate) fn of_end(end: Finished, provider: &str) -> Self {
        let Some(problem) = end.outcome.problem() else {
            return Self::misuse("the turn has succeeded");
        };
        let source: Option<Box<dyn StdError + Send + Sync>> = match &end.outcome {
            Outcome::Failed { failure } => Some(Box::new(failure.clone())),
            Outcome::Incomplete { reason } => Some(Box::new(*reason)),
            Outcome::LimitReached { limit } => Some(Box::new(limit.clone())),
            _ => None,
        };
        let (provider, model) = asked(&end, provider);
        Self::from(Inner {
            provider: Some(provider),
            model,
            status: problem.status,
            is_retryable: problem.is_retryable,
            source,
            result: Some(Box::new(TurnResult::without_answer(end))),
            ..Inner::new(problem.kind, problem.message)
        })
    }

    /// Returns the error of an answer that cannot be read as the app's type, though it was decoded before.
    pub(crate) fn unreadable(end: Finished, provider: &str) -> Self {
        let message = "the answer cannot be read as the type that was asked for".to_owned();
        let (provider, model) = asked(&end, provider);
        Self::from(Inner {
            provider: Some(provider),
            model,
            result: Some(Box::new(TurnResult::without_answer(end))),
            ..Inner::new(ErrorKind::OutputInvalid, message)
        })
    }

    /// Returns the kind, for the app to act on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns a sentence that describes what went wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the advice on what to do.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        self.0.kind.advice()
    }

    /// Returns the provider's name, if it is known: with a fallback, that of the model which was asked last.
    #[must_use]
    pub fn provider(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// Returns the name of the model that was asked last. `None` if the turn never began.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.0.model.as_deref()
    }

    /// Returns the HTTP status of the provider's answer, if it answered with an error.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Returns whether the same request may succeed another time.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.is_retryable
    }

    /// Returns what there is of the turn so far: its text, messages and usage. `None` if no turn began.
    #[must_use]
    pub fn result(&self) -> Option<&TurnResult<()>> {
        self.0.result.as_deref()
    }
}

/// Returns the provider and the model that were asked last.
fn asked(end: &Finished, provider: &str) -> (String, Option<String>) {
    match end.model.clone() {
        Some(asked) => (asked.provider, Some(asked.model)),
        None => (provider.to_owned(), None),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0.message, self.advice())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            message,
            provider,
            model,
            status,
            is_retryable,
            ..
        } = &*self.0;
        f.debug_struct("Error")
            .field("kind", kind)
            .field("message", message)
            .field("provider", provider)
            .field("model", model)
            .field("status", status)
            .field("is_retryable", is_retryable)
            .finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_ref()?;
        Some(&**source)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Busy { .. } => ErrorKind::Busy,
            StoreError::NoTurn { .. } | StoreError::NoThread { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Store,
        };
        Self::of_source(kind, error)
    }
}

macro_rules! misuses {
    ($($error:ty),* $(,)?) => {
        $(
            impl From<$error> for Error {
                fn from(error: $error) -> Self {
                    Self::of_source(ErrorKind::Misuse, error)
                }
            }
        )*
    };
}

misuses!(
    TurnError,
    ToolError,
    OutputTypeError,
    EndpointError,
    HttpClientError,
);

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        let kind = match &error {
            ModelError::Endpoint(EndpointError::NoKey { .. }) => ErrorKind::Authentication,
            _ => ErrorKind::Misuse,
        };
        Self::of_source(kind, error)
    }
}
