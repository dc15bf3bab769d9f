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

/// Why a request has no answer, or not the whole of one: what failed, and what caused it. It never holds the address,
/// which may hold a key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SendError(String);

impl SendError {
    /// An error of the app's own transport, of which `what` is told: neither keys nor addresses belong there.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// What the app's own transport says, and what caused it.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        Self::with_causes(&error.to_string(), error.source())
    }

    /// The request cannot be sent as it is.
    pub(crate) fn malformed(cause: &(dyn Error + 'static)) -> Self {
        Self::with_causes("the request is malformed", Some(cause))
    }

    /// The address is none that can be asked.
    pub(super) fn address(reason: &str) -> Self {
        Self(format!("the request is malformed: {reason}"))
    }

    /// No answer came. `cause` is what is below the client's own error.
    pub(super) fn unanswered(is_connect: bool, cause: Option<&(dyn Error + 'static)>) -> Self {
        let what = match cause {
            Some(cause) if is_timeout(cause) => "timed out",
            _ if is_connect => "could not connect",
            _ => "the request failed",
        };
        Self::with_causes(what, cause)
    }

    /// The body ended before its end.
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

    /// The libraries' own text alone says too little: the reason is in what caused it.
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
