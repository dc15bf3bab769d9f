//! The statements that write. Each function is a part of one transaction.

use super::database::{Database, Row, Transaction, Value};
use super::read::{self, TurnState, integer, no_turn, status_name, thread_values};
use crate::store::record::{Claimed, Generation, NewTurn, PersistBatch, TurnKey};
use crate::store::{StoreError, check};
use serde::Serialize;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{Block, TurnStatus};

/// Rows of one statement: few enough for every database's limit of values.
const ROWS: usize = 200;

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Refused {
        message: error.to_string(),
    })
}

/// `($1, $2), ($3, $4)` for two rows of two.
fn places(rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let places: Vec<_> = (1..=columns)
            .map(|column| format!("${}", row * columns + column))
            .collect();
        format!("({})", places.join(", "))
    };
    let rows: Vec<_> = (0..rows).map(row).collect();
    rows.join(", ")
}

pub(super) async fn begin_turn<D: Database>(
    transaction: &mut D::Transaction,
    new: &NewTurn,
) -> Result<Generation, StoreError> {
    let [server, room, thread] = thread_values(&new.key.thread);
    let at = Value::Integer(integer(new.at.0));
    // It locks the thread: of two that begin a turn at once, the second sees what the first has done.
    let sql = "INSERT INTO threads (server, room, thread, title, created_at, updated_at) \
               VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (server, room, thread) DO UPDATE SET \
               title = COALESCE(threads.title, excluded.title), \
               updated_at = CASE WHEN excluded.updated_at > threads.updated_at \
               THEN excluded.updated_at ELSE threads.updated_at END RETURNING id";
    let values = [server, room, thread, new.title.as_deref().into(), at];
    let row = transaction.row(sql, &values).await?;
    let thread = Value::Integer(row.ok_or_else(nothing_returned)?.integer(0)?);

    let sql = "SELECT id FROM turns WHERE thread_id = $1 AND run_id = $2";
    let turn = Value::Text(&new.key.turn);
    if transaction.row(sql, &[thread, turn]).await?.is_some() {
        let turn = new.key.turn.clone();
        return Err(StoreError::Exists { turn });
    }
    let unfinished = "SELECT t.run_id, s.generation, s.owner FROM turn_states s \
                      JOIN turns t ON t.id = s.turn_id WHERE s.thread_id = $1 AND s.status = 'streaming'";
    if let Some(row) = transaction.row(unfinished, &[thread]).await? {
        return Err(StoreError::Busy {
            turn: row.text(0)?.into(),
            generation: Generation(row.count(1)?),
            owner: row.text(2)?,
        });
    }
    if let Some(parent) = &new.parent {
        let found = transaction.row(sql, &[thread, Value::Text(parent)]).await?;
        found.ok_or_else(|| no_turn(parent))?;
    }

    let message = new.message.as_ref().map(json).transpose()?;
    let history = new.history.as_ref().map(json).transpose()?;
    let sql = "INSERT INTO turns (thread_id, run_id, parent, message, history, created_at) \
               VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";
    let parent = new.parent.as_deref().into();
    let (message, history) = (message.as_deref().into(), history.as_deref().into());
    let values = [thread, turn, parent, message, history, at];
    let row = transaction.row(sql, &values).await?;
    let turn = Value::Integer(row.ok_or_else(nothing_returned)?.integer(0)?);
    let sql = "INSERT INTO turn_states \
               (turn_id, thread_id, status, owner, generation, blocks, events, updated_at) \
               VALUES ($1, $2, 'streaming', $3, $4, 0, 0, $5)";
    let generation = Value::Integer(integer(Generation::FIRST.0));
    let values = [turn, thread, Value::Text(&new.owner), generation, at];
    transaction.execute(sql, &values).await?;
    if let Some(checkpoint) = &new.checkpoint {
        store_snapshot::<D>(transaction, turn, checkpoint).await?;
    }
    Ok(Generation::FIRST)
}

fn nothing_returned() -> StoreError {
    StoreError::Other {
        message: "a row that was written was not given back".to_owned(),
    }
}

pub(super) async fn claim<D: Database>(
    transaction: &mut D::Transaction,
    key: &TurnKey,
    seen: Generation,
    owner: &str,
) -> Result<Claimed, StoreError> {
    let state = read::state::<D>(transaction, key, D::LOCKED).await?;
    if state.status != TurnStatus::Streaming {
        let turn = key.turn.clone();
        return Err(StoreError::Closed { turn });
    }
    check::owned(&key.turn, seen, state.generation)?;
    let generation = state.generation.next();
    let sql = "UPDATE turn_states SET generation = $2, owner = $3 WHERE turn_id = $1";
    let turn = Value::Integer(state.turn_id);
    let values = [turn, integer(generation.0).into(), owner.into()];
    transaction.execute(sql, &values).await?;
    let sql = "SELECT snapshot FROM snapshots WHERE turn_id = $1";
    let row = transaction.row(sql, &[turn]).await?;
    Ok(Claimed {
        generation,
        checkpoint: row.map(|row| row.text(0)).transpose()?,
    })
}

pub(super) async fn persist<D: Database>(
    transaction: &mut D::Transaction,
    key: &TurnKey,
    generation: Generation,
    batch: &PersistBatch,
) -> Result<(), StoreError> {
    let state = read::state::<D>(transaction, key, D::LOCKED).await?;
    check::owned(&key.turn, generation, state.generation)?;
    check::follows(&key.turn, batch.first, state.blocks)?;
    let old = usize::try_from(state.blocks - batch.first).unwrap_or(usize::MAX);
    let (old, new) = batch.blocks.split_at(old.min(batch.blocks.len()));
    same_blocks::<D>(transaction, key, &state, old).await?;
    let outcome = batch.outcome.as_ref().map(json).transpose()?;
    if state.status != TurnStatus::Streaming {
        let is_the_end = state.status == batch.status && state.outcome == outcome;
        return if is_the_end && new.is_empty() {
            Ok(())
        } else {
            let turn = key.turn.clone();
            Err(StoreError::Closed { turn })
        };
    }
    let turn = Value::Integer(state.turn_id);
    let at = Value::Integer(integer(batch.at.0));
    add_blocks::<D>(transaction, turn, at, new).await?;
    let sql = "UPDATE turn_states SET status = $2, outcome = $3, blocks = $4, \
               updated_at = CASE WHEN $5 > updated_at THEN $5 ELSE updated_at END WHERE turn_id = $1";
    let blocks = state.blocks + new.len() as u64;
    let values = [
        turn,
        status_name(batch.status).into(),
        outcome.as_deref().into(),
        integer(blocks).into(),
        at,
    ];
    transaction.execute(sql, &values).await?;
    if batch.status == TurnStatus::Streaming {
        store_snapshot::<D>(transaction, turn, &batch.checkpoint).await?;
    } else {
        let sql = "DELETE FROM snapshots WHERE turn_id = $1";
        transaction.execute(sql, &[turn]).await?;
    }
    let sql = "UPDATE threads SET updated_at = $2 WHERE id = $1 AND updated_at < $2";
    let values = [Value::Integer(state.thread_id), at];
    transaction.execute(sql, &values).await?;
    Ok(())
}

/// What is sent again must be what is stored.
async fn same_blocks<D: Database>(
    transaction: &mut D::Transaction,
    key: &TurnKey,
    state: &TurnState,
    blocks: &[Block],
) -> Result<(), StoreError> {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else {
        return Ok(());
    };
    let sql = "SELECT block FROM blocks WHERE turn_id = $1 AND sequence >= $2 AND sequence <= $3 \
               ORDER BY sequence";
    let values = [
        Value::Integer(state.turn_id),
        integer(first.sequence).into(),
        integer(last.sequence).into(),
    ];
    let stored = transaction.rows(sql, &values).await?;
    for (block, stored) in blocks.iter().zip(&stored) {
        let stored = stored.text(0)?;
        // Another version of the program may have written the same otherwise.
        if stored != json(block)? && *block != read::parsed::<Block>("a block", &stored)? {
            return Err(StoreError::Conflict {
                turn: key.turn.clone(),
                number: block.sequence,
            });
        }
    }
    Ok(())
}

async fn add_blocks<D: Database>(
    transaction: &mut D::Transaction,
    turn: Value<'_>,
    at: Value<'_>,
    blocks: &[Block],
) -> Result<(), StoreError> {
    for blocks in blocks.chunks(ROWS) {
        let written: Vec<_> = blocks.iter().map(json).collect::<Result<_, _>>()?;
        let values: Vec<_> = blocks
            .iter()
            .zip(&written)
            .flat_map(|(block, json)| {
                let sequence = integer(block.sequence).into();
                [turn, sequence, Value::Text(json), at]
            })
            .collect();
        let sql = format!(
            "INSERT INTO blocks (turn_id, sequence, block, stored_at) VALUES {}",
            places(blocks.len(), 4)
        );
        transaction.execute(&sql, &values).await?;
    }
    Ok(())
}

async fn store_snapshot<D: Database>(
    transaction: &mut D::Transaction,
    turn: Value<'_>,
    snapshot: &str,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO snapshots (turn_id, snapshot) VALUES ($1, $2) \
               ON CONFLICT (turn_id) DO UPDATE SET snapshot = excluded.snapshot";
    transaction.execute(sql, &[turn, snapshot.into()]).await?;
    Ok(())
}

pub(super) async fn rename_thread<D: Database>(
    transaction: &mut D::Transaction,
    thread: &ThreadKey,
    title: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE threads SET title = $4 WHERE server = $1 AND room = $2 AND thread = $3";
    let [server, room, name] = thread_values(thread);
    let values = [server, room, name, title.into()];
    if transaction.execute(sql, &values).await? == 0 {
        let thread = thread.clone();
        return Err(StoreError::NoThread { thread });
    }
    Ok(())
}

pub(super) async fn delete_thread<D: Database>(
    transaction: &mut D::Transaction,
    thread: &ThreadKey,
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM threads WHERE server = $1 AND room = $2 AND thread = $3";
    let deleted = transaction.execute(sql, &thread_values(thread)).await?;
    Ok(deleted > 0)
}

/// Gives where the turn stands.
pub(super) async fn append_events<D: Database>(
    transaction: &mut D::Transaction,
    key: &TurnKey,
    (generation, first, events): (Generation, u64, &[String]),
) -> Result<TurnStatus, StoreError> {
    let state = read::state::<D>(transaction, key, D::LOCKED).await?;
    check::owned(&key.turn, generation, state.generation)?;
    check::follows(&key.turn, first, state.events)?;
    let old = usize::try_from(state.events - first).unwrap_or(usize::MAX);
    let (old, new) = events.split_at(old.min(events.len()));
    if !old.is_empty() {
        let after = first.checked_sub(1);
        let stored = read::events::<D>(transaction, state.turn_id, after, old.len()).await?;
        if let Some((_, stored)) = old.iter().zip(&stored).find(|(a, b)| **a != b.data) {
            return Err(StoreError::Conflict {
                turn: key.turn.clone(),
                number: stored.index,
            });
        }
    }
    if new.is_empty() {
        return Ok(state.status);
    }
    let turn = Value::Integer(state.turn_id);
    let mut position = state.events;
    for events in new.chunks(ROWS) {
        let values: Vec<_> = events
            .iter()
            .zip(position..)
            .flat_map(|(event, position)| [turn, integer(position).into(), Value::Text(event)])
            .collect();
        let sql = format!(
            "INSERT INTO events (turn_id, position, data) VALUES {}",
            places(events.len(), 3)
        );
        transaction.execute(&sql, &values).await?;
        position += events.len() as u64;
    }
    let sql = "UPDATE turn_states SET events = $2 WHERE turn_id = $1";
    let values = [turn, integer(position).into()];
    transaction.execute(sql, &values).await?;
    Ok(state.status)
}

pub(super) async fn acknowledge<D: Database>(
    transaction: &mut D::Transaction,
    key: &TurnKey,
    index: u64,
) -> Result<(), StoreError> {
    let state = read::state::<D>(transaction, key, D::LOCKED).await?;
    check::acknowledged(&key.turn, index, state.events)?;
    let index = Some(integer(index)).max(state.acknowledged);
    let sql = "UPDATE turn_states SET acknowledged = $2 WHERE turn_id = $1";
    let values = [Value::Integer(state.turn_id), Value::MaybeInteger(index)];
    transaction.execute(sql, &values).await?;
    Ok(())
}
