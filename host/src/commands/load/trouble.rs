use std::error::Error;
use stepwell_core::wire::WireError;

/// Why a turn failed.
#[derive(Debug)]
pub(super) struct Trouble {
    /// The reason, which failures are grouped by.
    pub(super) reason: String,
    /// The server's own message.
    pub(super) said: Option<String>,
    /// The status of a refusal.
    pub(super) status: Option<u16>,
}

impl Trouble {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            said: None,
            status: None,
        }
    }

    /// Returns why a request got no answer: the innermost reason, without addresses, so that equal reasons are counted
    /// together.
    pub(super) fn of(error: reqwest::Error) -> Self {
        let is_connect = error.is_connect();
        let error = error.without_url();
        let mut inner: &dyn Error = &error;
        while let Some(source) = inner.source() {
            inner = source;
        }
        let kind = if is_connect {
            "no connection"
        } else {
            "the connection broke"
        };
        Self::new(format!("{kind}: {inner}"))
    }

    pub(super) fn saying(mut self, message: String) -> Self {
        self.said = Some(message).filter(|message| !message.is_empty());
        self
    }

    pub(super) fn refused(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
}

impl From<WireError> for Trouble {
    fn from(error: WireError) -> Self {
        Self::new(format!("the stream cannot be read: {error}"))
    }
}
