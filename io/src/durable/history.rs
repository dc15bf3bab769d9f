use crate::store::StoreError;
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::run::{RunConfig, RunMachine, SnapshotError};
use stepwell_core::session::{MessageBuilder, SessionError, Turn};
use stepwell_core::{RunId, Timestamp};

/// The conversation that stored turns come to, the oldest first.
pub(crate) fn history(path: &[Turn]) -> Result<Conversation, StoreError> {
    let conversation = MessageBuilder::new().conversation(path);
    conversation.map_err(|error| StoreError::Damaged {
        message: error.to_string(),
    })
}

/// The run of the last turn on a path, from its checkpoint. A turn that was begun without the store, and goes on in it
/// from a snapshot that the app has kept, has that until its first write.
pub(crate) fn revive_stored(
    checkpoint: &str,
    path: &[Turn],
    config: &Arc<RunConfig>,
    now: Timestamp,
) -> Result<RunMachine, SnapshotError> {
    let (turn, history) = last_of(path)?;
    match RunMachine::revive_from(checkpoint, history, turn, Arc::clone(config), now) {
        Err(SnapshotError::IsSnapshot) => RunMachine::revive(checkpoint, Arc::clone(config), now),
        revived => revived,
    }
}

/// The last turn on a path, and the conversation before it.
pub(crate) fn last_of(path: &[Turn]) -> Result<(&Turn, Conversation), SessionError> {
    let Some((turn, before)) = path.split_last() else {
        let turn = RunId::default();
        return Err(SessionError::UnknownTurn { turn });
    };
    let history = match turn.history {
        // It begins with that.
        Some(_) => Conversation::default(),
        None => MessageBuilder::new().conversation(before)?,
    };
    Ok((turn, history))
}
