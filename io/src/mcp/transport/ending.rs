//! How a child process came to its end.

use crate::mcp::shortened;
use std::process::ExitStatus;

/// The end of a child process, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(in crate::mcp) struct Ending {
    /// The exit status, once the child and its process group have ended.
    pub(in crate::mcp) status: Option<Result<ExitStatus, String>>,
    /// The child's violation of a limit.
    pub(in crate::mcp) fault: Option<String>,
    /// The last line of its standard error.
    pub(in crate::mcp) last_words: String,
}

impl Ending {
    /// Returns the reason in words for the model, without the server's own text.
    pub(in crate::mcp) fn reason(&self) -> String {
        match (&self.fault, &self.status) {
            (Some(fault), _) => fault.clone(),
            (None, Some(Ok(status))) => format!("it ended with {status}"),
            (None, Some(Err(error))) => format!("it ended: {error}"),
            (None, None) => "it closed its output".to_owned(),
        }
    }

    /// Returns the reason in words for the developer.
    pub(in crate::mcp) fn full_reason(&self) -> String {
        let reason = self.reason();
        if self.last_words.is_empty() {
            return reason;
        }
        let words = shortened(&self.last_words, 300);
        format!("{reason}; the last line of its standard error is `{words}`")
    }
}
