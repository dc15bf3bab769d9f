//! How a child process came to its end.

use super::shortened;
use std::process::ExitStatus;

/// How a child came to its end, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// It has ended, and nothing of it runs any more.
    pub(super) status: Option<Result<ExitStatus, String>>,
    /// What it did that it may not.
    pub(super) fault: Option<String>,
    /// The last line of its standard error.
    pub(super) last_words: String,
}

impl Ending {
    /// In words for the model: without the server's own.
    pub(super) fn reason(&self) -> String {
        match (&self.fault, &self.status) {
            (Some(fault), _) => fault.clone(),
            (None, Some(Ok(status))) => format!("it ended with {status}"),
            (None, Some(Err(error))) => format!("it ended: {error}"),
            (None, None) => "it closed its output".to_owned(),
        }
    }

    /// In words for the developer.
    pub(super) fn full_reason(&self) -> String {
        let reason = self.reason();
        if self.last_words.is_empty() {
            return reason;
        }
        let words = shortened(&self.last_words, 300);
        format!("{reason}; the last line of its standard error is `{words}`")
    }
}
