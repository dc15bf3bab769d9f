//! The refusals that all stores share, for implementations of [`TurnStore`](super::TurnStore) and of the other parts. Unless
//! a check says otherwise, it returns [`StoreError::Refused`] with the reason.

use super::error::StoreError;
use super::record::{Generation, NewTurn, PersistBatch, SentCommand, TurnKey};
use stepwell_core::RunId;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{Block, TurnStatus};
use stepwell_core::session::Turn;

/// The most bytes of a name: three names fit into one entry of PostgreSQL's indexes.
const MAX_NAME_BYTES: usize = 800;

/// Checks a name. Names are in indexes.
fn name(what: &str, text: &str) -> Result<(), StoreError> {
    if text.len() > MAX_NAME_BYTES {
        let message = format!("{what} is longer than {MAX_NAME_BYTES} bytes");
        return Err(StoreError::Refused { message });
    }
    plain(what, text)
}

/// Checks a text: databases accept no NUL. JSON has none.
fn plain(what: &str, text: &str) -> Result<(), StoreError> {
    if text.contains('\0') {
        let message = format!("{what} holds a NUL character");
        return Err(StoreError::Refused { message });
    }
    Ok(())
}

pub(super) fn thread(key: &ThreadKey) -> Result<(), StoreError> {
    name("the server's name", &key.server)?;
    name("the room's name", &key.room)?;
    name("the thread's id", &key.thread)
}

pub(super) fn turn(key: &TurnKey) -> Result<(), StoreError> {
    thread(&key.thread)?;
    name("the turn's id", &key.turn)
}

/// Checks a title: any text without NUL.
///
/// # Errors
/// The title is invalid.
pub fn title(title: &str) -> Result<(), StoreError> {
    plain("the title", title)
}

/// Checks an owner's name: at most 800 bytes, without NUL.
///
/// # Errors
/// The name is invalid.
pub fn owner(owner: &str) -> Result<(), StoreError> {
    name("the owner's name", owner)
}

/// Checks the names of a new turn, and its title.
///
/// # Errors
/// A name or the title is invalid.
pub fn new_turn(new: &NewTurn) -> Result<(), StoreError> {
    turn(&new.key)?;
    owner(&new.owner)?;
    if let Some(parent) = &new.parent {
        name("the parent's id", parent)?;
    }
    new.title.as_deref().map_or(Ok(()), title)
}

/// Checks that the blocks are numbered as the batch says.
///
/// # Errors
/// The numbers differ, or a turn that continues has an outcome.
pub fn batch(batch: &PersistBatch) -> Result<(), StoreError> {
    let refused = |message: String| Err(StoreError::Refused { message });
    let numbers = batch.first..;
    for (block, number) in batch.blocks.iter().zip(numbers) {
        if block.sequence != number {
            let given = block.sequence;
            return refused(format!(
                "a block is numbered {given} where {number} follows"
            ));
        }
    }
    if batch.status == TurnStatus::Streaming && batch.outcome.is_some() {
        return refused("an outcome is given of a turn that goes on".to_owned());
    }
    events(&batch.events)
}

/// Checks that the writer of a turn has the generation that is stored.
///
/// # Errors
/// [`Stale`](StoreError::Stale) otherwise.
pub fn owned(turn: &RunId, given: Generation, current: Generation) -> Result<(), StoreError> {
    if given == current {
        Ok(())
    } else {
        Err(StoreError::Stale {
            turn: turn.clone(),
            given,
            current,
        })
    }
}

/// Checks that a block or an event follows what is stored, or is stored already: `next` is the next number.
///
/// # Errors
/// [`Gap`](StoreError::Gap) otherwise.
pub fn follows(turn: &RunId, given: u64, next: u64) -> Result<(), StoreError> {
    if given <= next {
        Ok(())
    } else {
        Err(StoreError::Gap {
            turn: turn.clone(),
            given,
            next,
        })
    }
}

/// Checks a batch against the turn as it is stored, and returns the blocks to add. `None` if the batch changes nothing: it
/// ends before what is stored, and arrives late, or the turn has ended with the end that the batch gives.
///
/// # Errors
/// [`Gap`](StoreError::Gap), [`Conflict`](StoreError::Conflict), or [`Closed`](StoreError::Closed) if the turn has ended
/// otherwise.
pub fn new_blocks<'b>(
    stored: &Turn,
    batch: &'b PersistBatch,
) -> Result<Option<&'b [Block]>, StoreError> {
    let turn = &stored.id;
    follows(turn, batch.first, stored.blocks.len() as u64)?;
    let first = usize::try_from(batch.first).unwrap_or(usize::MAX);
    let old = stored.blocks.get(first..).unwrap_or_default();
    if let Some((given, _)) = batch
        .blocks
        .iter()
        .zip(old)
        .find(|(given, old)| **given != old.block)
    {
        return Err(StoreError::Conflict {
            turn: turn.clone(),
            number: given.sequence,
        });
    }
    let new = batch.blocks.get(old.len()..).unwrap_or_default();
    if stored.status == TurnStatus::Streaming {
        let is_late = batch.status == TurnStatus::Streaming && batch.blocks.len() < old.len();
        return Ok((!is_late).then_some(new));
    }
    let is_same_end = stored.status == batch.status && stored.outcome == batch.outcome;
    if is_same_end && new.is_empty() {
        return Ok(None);
    }
    let turn = turn.clone();
    Err(StoreError::Closed { turn })
}

/// Checks that an event that a client acknowledges is stored: `next` is the next index.
///
/// # Errors
/// [`Gap`](StoreError::Gap) otherwise.
pub fn acknowledged(turn: &RunId, index: u64, next: u64) -> Result<(), StoreError> {
    if index < next {
        Ok(())
    } else {
        Err(StoreError::Gap {
            turn: turn.clone(),
            given: index,
            next,
        })
    }
}

/// Checks events of a log: any texts without NUL.
///
/// # Errors
/// An event is invalid.
pub fn events(events: &[String]) -> Result<(), StoreError> {
    events.iter().try_for_each(|event| plain("an event", event))
}

/// Checks a command to an owner: valid names, and a text without NUL.
///
/// # Errors
/// The command is invalid.
pub fn command(command: &SentCommand) -> Result<(), StoreError> {
    name("the command's id", &command.id)?;
    owner(&command.owner)?;
    plain("a command", &command.command)
}

/// Checks a reply to a command: any text without NUL.
///
/// # Errors
/// The reply is invalid.
pub fn reply(reply: &str) -> Result<(), StoreError> {
    plain("a reply", reply)
}
