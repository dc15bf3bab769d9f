use crate::store::StoreError;
use std::sync::Arc;
use stepwell_core::run::{RunConfig, RunMachine, SnapshotError};
use stepwell_core::session::{MessageBuilder, SessionError, Turn};
use stepwell_core::transcript::Transcript;
use stepwell_core::{RunId, Timestamp};

/// Rebuilds the conversation from stored turns, the oldest first.
pub(crate) fn history(path: &[Turn]) -> Result<Transcript, StoreError> {
    let transcript = MessageBuilder::new().transcript(path);
    transcript.map_err(|error| StoreError::Damaged {
        message: error.to_string(),
    })
}

/// Revives the run of the last turn on a path, from its checkpoint. A turn that was begun without the store, and
/// continues in it from a snapshot that the app has kept, has that snapshot as its checkpoint until its first write.
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

/// Returns the last turn on a path, and the conversation before it.
pub(crate) fn last_of(path: &[Turn]) -> Result<(&Turn, Transcript), SessionError> {
    let Some((turn, before)) = path.split_last() else {
        let turn = RunId::default();
        return Err(SessionError::UnknownTurn { turn });
    };
    let history = match turn.history {
        // The turn begins with its own history.
        Some(_) => Transcript::default(),
        None => MessageBuilder::new().transcript(before)?,
    };
    Ok((turn, history))
}
