//! The mark of an answer that a hook has refused: the answer stays in the history, but is not sent to the model.

use crate::event::{Message, Metadata};
use serde_json::Value;
use std::borrow::Cow;

/// The key in the metadata of each message of an answer that a hook has refused; its value is `true`. The text and
/// reasoning of such messages are not sent to the model. Their calls are, with results that say that they were not run.
pub const REFUSED: &str = "refused";

/// Marks a message of an answer. Returns whether there was anything to mark.
pub(in crate::run) fn mark_as_refused(message: &mut Message) -> bool {
    let is_said = match message {
        Message::Assistant(said) => said.content.is_some(),
        Message::Reasoning(_) => true,
        _ => false,
    };
    if is_said {
        let metadata = message.metadata_mut().get_or_insert_default();
        metadata.insert(REFUSED.to_owned(), Value::Bool(true));
    }
    is_said
}

/// The messages as the model is sent them.
pub(in crate::run) fn without_refused(messages: Cow<'_, [Message]>) -> Cow<'_, [Message]> {
    if !messages.iter().any(is_refused) {
        return messages;
    }
    Cow::Owned(messages.iter().filter_map(without_text).collect())
}

fn without_text(message: &Message) -> Option<Message> {
    if !is_refused(message) {
        return Some(message.clone());
    }
    match message {
        Message::Assistant(said) if !said.tool_calls.is_empty() => {
            let mut calls = said.clone();
            calls.content = None;
            Some(Message::Assistant(calls))
        }
        _ => None,
    }
}

fn is_refused(message: &Message) -> bool {
    let is_marked = |metadata: Option<&Metadata>| {
        metadata.and_then(|metadata| metadata.get(REFUSED)) == Some(&Value::Bool(true))
    };
    matches!(message, Message::Assistant(_) | Message::Reasoning(_))
        && is_marked(message.metadata())
}
