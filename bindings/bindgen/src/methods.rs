//! The methods of the machine and the registry as calls of the JSON API.

use crate::model::{Field, Method};

/// Methods that the JSON API lacks or has in another form: its packages have them by hand.
const BY_HAND: [&str; 8] = [
    "end_journal",
    "poll_outputs",
    "receive",
    "steer",
    "steer_message",
    "take_journal",
    "timeout_reason",
    "tool_finished_parts",
];

/// Arguments that are text or an array of content parts in JSON.
const CONTENT: [(&str, &str); 2] = [
    ("tool_finished", "content"),
    ("tool_partial_result", "content"),
];

/// Arguments and answers that are an array of AG-UI messages.
const MESSAGES: [(&str, &str); 2] = [("messages", "answer"), ("shown", "messages")];

impl Method {
    /// Returns whether the method is a call of the JSON API in the same form.
    pub(crate) fn is_call(&self) -> bool {
        !BY_HAND.contains(&self.name.as_str())
    }

    /// Returns the documentation of the call.
    pub(crate) fn json_doc(&self) -> String {
        let is_content = |field: &Field| self.is_content(&field.name);
        if self.arguments.iter().any(is_content) {
            format!(
                "{} What is more than text is an array of AG-UI content parts.",
                self.doc
            )
        } else {
            self.doc.clone()
        }
    }

    /// Returns whether an argument is text or an array of content parts.
    pub(crate) fn is_content(&self, argument: &str) -> bool {
        CONTENT.contains(&(&self.name, argument))
    }

    /// Returns whether an argument, or the answer, is an array of AG-UI messages.
    pub(crate) fn is_messages(&self, argument: &str) -> bool {
        MESSAGES.contains(&(&self.name, argument))
    }
}
