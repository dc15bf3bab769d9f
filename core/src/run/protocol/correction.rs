//! What the model is told of an answer that is not the typed one it was asked for.

use crate::RunId;
use crate::event::{Message, Metadata, UserMessage};
use serde_json::Value;

/// In the metadata of a user message that is the app's and not the user's: `true`. It tells the model what of its typed
/// answer does not fit. Views of a session do not show it.
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

/// Whether the message is the app's word on an answer that did not fit.
pub(crate) fn is_correction(message: &Message) -> bool {
    let mark = message
        .metadata()
        .and_then(|metadata| metadata.get(CORRECTION));
    matches!(message, Message::User(_)) && mark == Some(&Value::Bool(true))
}
