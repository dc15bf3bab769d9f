//! The mark of an answer that a hook has refused: the answer stays in the history, but is not sent to the model.

use crate::dialect::SentMessage;
use crate::event::{Message, Metadata};
use serde_json::Value;

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

/// Leaves out what the model is not sent of answers that a hook has refused.
pub(in crate::run) fn leave_out_refused(messages: &mut Vec<SentMessage<'_>>) {
    messages.retain_mut(|message| {
        if !is_refused(message) {
            return true;
        }
        let has_calls =
            matches!(&**message, Message::Assistant(said) if !said.tool_calls.is_empty());
        if has_calls && let Message::Assistant(said) = message.to_mut() {
            said.content = None;
        }
        has_calls
    });
}

fn is_refused(message: &Message) -> bool {
    let is_marked = |metadata: Option<&Metadata>| {
        metadata.and_then(|metadata| metadata.get(REFUSED)) == Some(&Value::Bool(true))
    };
    matches!(message, Message::Assistant(_) | Message::Reasoning(_))
        && is_marked(message.metadata())
}
