//! Which methods of the machine and the registry are a call of the JSON API, and in which form.

use crate::model::{Field, Method};

/// What the packages that speak JSON write by hand: what it has in another form, or not at all.
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

/// What is JSON there: text, or an array of content parts.
const CONTENT: [(&str, &str); 2] = [
    ("tool_finished", "content"),
    ("tool_partial_result", "content"),
];

/// What is an array of AG-UI messages; what a method gives is its `answer`.
const MESSAGES: [(&str, &str); 2] = [("messages", "answer"), ("shown", "messages")];

impl Method {
    /// Whether it is a call of the JSON API as it is.
    pub(crate) fn is_call(&self) -> bool {
        !BY_HAND.contains(&self.name.as_str())
    }

    /// What it does, in the JSON API.
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

    /// Whether an argument is text or an array of content parts.
    pub(crate) fn is_content(&self, argument: &str) -> bool {
        CONTENT.contains(&(&self.name, argument))
    }

    /// Whether an argument, or what it gives, is an array of AG-UI messages.
    pub(crate) fn is_messages(&self, argument: &str) -> bool {
        MESSAGES.contains(&(&self.name, argument))
    }
}
