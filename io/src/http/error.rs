use std::error::Error;
use std::io;

/// Any error of a connector.
pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// Why an HTTP client cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpClientError {
    /// The system's certificates, or the crypto provider that the app installed, are unusable.
    #[cfg(feature = "tls")]
    #[error(
        "TLS cannot be set up: {0}; see that the system has root certificates (on Debian the package \
         `ca-certificates`), or give the agent an HTTP client of the app's own (the feature `reqwest`)"
    )]
    Tls(#[from] rustls::Error),
}

/// Why a request has no answer, or an incomplete one: the failure and its causes. The text never holds the address,
/// which may hold a key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SendError(String);

impl SendError {
    /// Returns an error of the app's transport. The text should hold neither keys nor addresses.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// Returns an error of the app's transport, with its causes.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        Self::with_causes(&error.to_string(), error.source())
    }

    /// Returns the error of a request that cannot be sent.
    pub(crate) fn malformed(cause: &(dyn Error + 'static)) -> Self {
        Self::with_causes("the request is malformed", Some(cause))
    }

    /// Returns the error of an address that cannot be used.
    pub(super) fn address(reason: &str) -> Self {
        Self(format!("the request is malformed: {reason}"))
    }

    /// Returns the error of a request without an answer. `cause` is the source of the client's error.
    pub(super) fn unanswered(is_connect: bool, cause: Option<&(dyn Error + 'static)>) -> Self {
        let what = match cause {
            Some(cause) if is_timeout(cause) => "timed out",
            _ if is_connect => "could not connect",
            _ => "the request failed",
        };
        Self::with_causes(what, cause)
    }

    /// Returns the error of a body that ended early.
    pub(super) fn broken_off(cause: &(dyn Error + 'static)) -> Self {
        let what = match is_timeout(cause) {
            true => "timed out",
            false => "the body broke off",
        };
        Self::with_causes(what, Some(cause))
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn event_too_long(most: usize) -> Self {
        Self(format!("an event is longer than {most} bytes"))
    }

    pub(super) fn too_long(most: usize) -> Self {
        Self(format!("the answer is longer than {most} bytes"))
    }

    /// Returns an error with the texts of its causes: a library's own text is not enough.
    pub(super) fn with_causes(what: &str, mut cause: Option<&(dyn Error + 'static)>) -> Self {
        let mut text = what.to_owned();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Self(text)
    }
}

fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return true;
        }
        cause = error.source();
    }
    false
}
