//! What the unfinished turn of a stored conversation waits for.

use crate::durable::in_time;
use crate::store::{StoreError, TurnStore};
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::Pending;
use stepwell_core::session;

/// Returns what the unfinished turn of a conversation waits for, as it is stored: in any process, without the agent.
/// Empty if no turn of the conversation is unfinished. [`Conversation`](crate::Conversation) takes the replies.
///
/// # Errors
/// The store cannot be read.
pub async fn pending(
    store: &dyn TurnStore,
    conversation: impl Into<ThreadKey>,
) -> Result<Vec<Pending>, StoreError> {
    let key = conversation.into();
    let record = in_time(store.thread(&key)).await?;
    let Some(unfinished) = record.and_then(|record| record.unfinished) else {
        return Ok(Vec::new());
    };
    let turn = in_time(store.turn(&unfinished.key)).await?;
    Ok(turn.as_ref().map(session::pending).unwrap_or_default())
}
