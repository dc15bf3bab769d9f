//! The text that tells the model why its answer does not fit the type that it was asked for.

use crate::RunId;
use crate::event::{Message, Metadata, UserMessage};
use serde_json::Value;

/// The key in the metadata of a user message that comes from the app and not from the user; its value is `true`. The
/// message tells the model why its typed answer does not fit. Views of a session do not show it.
pub const CORRECTION: &str = "correction";

/// The message of a hop's run that tells the model so.
pub(in crate::run) fn correction(run_id: &RunId, text: String) -> Message {
    let mut metadata = Metadata::new();
    metadata.insert(CORRECTION.to_owned(), Value::Bool(true));
    Message::User(UserMessage {
        id: format!("{run_id}-correction").into(),
        content: text.into(),
        metadata: Some(metadata),
        ..UserMessage::default()
    })
}

/// Returns whether the message is the app's word on an answer that did not fit.
pub(crate) fn is_correction(message: &Message) -> bool {
    let mark = message
        .metadata()
        .and_then(|metadata| metadata.get(CORRECTION));
    matches!(message, Message::User(_)) && mark == Some(&Value::Bool(true))
}
