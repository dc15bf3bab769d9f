use crate::store::StoreError;
use stepwell_core::conversation::Conversation;
use stepwell_core::session::{MessageBuilder, Turn};

/// The conversation that stored turns come to, the oldest first.
pub(crate) fn history(path: &[Turn]) -> Result<Conversation, StoreError> {
    let conversation = MessageBuilder::new().conversation(path);
    conversation.map_err(|error| StoreError::Damaged {
        message: error.to_string(),
    })
}
