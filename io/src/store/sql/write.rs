//! The changes of a store, as statements.

use super::change::Change;
use super::database::{Row, Session, Value};
use super::read::{self, TurnState, integer, no_turn, status_name, thread_values};
use crate::store::record::{Claimed, Generation, NewTurn, PersistBatch, TurnKey};
use crate::store::{LeaseKey, StoreError, check};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{Block, TurnStatus};

/// The most rows of one statement: few enough for the number of values that each database takes.
const ROWS: usize = 200;

/// Leases that expired so long ago are deleted.
const FORGOTTEN_AFTER_MS: u32 = 24 * 60 * 60 * 1000;

type Applied<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Refused {
        message: error.to_string(),
    })
}

/// Returns `(?1, ?2), (?3, ?4)` for two rows of two columns.
fn placeholders(rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let places: Vec<_> = (1..=columns)
            .map(|column| format!("?{}", row * columns + column))
            .collect();
        format!("({})", places.join(", "))
    };
    let rows: Vec<_> = (0..rows).map(row).collect();
    rows.join(", ")
}

/// Begins a turn.
pub(super) struct Begin {
    new: NewTurn,
    message: Option<String>,
    history: Option<String>,
}

impl Begin {
    pub(super) fn new(new: &NewTurn) -> Result<Self, StoreError> {
        check::new_turn(new)?;
        Ok(Self {
            message: new.message.as_ref().map(json).transpose()?,
            history: new.history.as_ref().map(json).transpose()?,
            new: NewTurn {
                message: None,
                history: None,
                ..new.clone()
            },
        })
    }

    /// Locks the thread where there is one, so that of two turns that begin at once the second sees the first.
    async fn check<S: Session>(&self, session: &mut S) -> Result<(), StoreError> {
        let NewTurn { key, parent, .. } = &self.new;
        let sql = format!(
            "SELECT s.id FROM threads s WHERE s.server = ?1 AND s.room = ?2 AND s.thread = ?3{}",
            S::WORDS.locked
        );
        let thread = session.row(&sql, &thread_values(&key.thread)).await?;
        let Some(thread) = thread else {
            let missing = parent.as_ref().map(no_turn);
            return missing.map_or(Ok(()), Err);
        };
        let sql = "SELECT t.run_id, s.status, s.generation, s.owner FROM turn_states s \
                   JOIN turns t ON t.id = s.turn_id WHERE s.thread_id = ?1 AND s.status = 'streaming' \
                   UNION ALL SELECT t.run_id, 'complete', 0, '' FROM turns t \
                   WHERE t.thread_id = ?1 AND t.run_id IN (?2, ?3)";
        let parent_id = Value::Text(parent.as_ref().unwrap_or(&key.turn));
        let values = [
            Value::Integer(thread.integer(0)?),
            Value::Text(&key.turn),
            parent_id,
        ];
        let rows = session.rows(sql, &values).await?;
        let mut has_parent = parent.is_none();
        let mut busy = None;
        for row in &rows {
            let run_id = row.text(0)?;
            if row.text(1)? == "streaming" {
                busy = Some(StoreError::Busy {
                    turn: run_id.into(),
                    generation: Generation(row.count(2)?),
                    owner: row.text(3)?.to_owned(),
                });
            } else if run_id == &*key.turn {
                let turn = key.turn.clone();
                return Err(StoreError::Exists { turn });
            } else {
                has_parent = true;
            }
        }
        match (busy, parent) {
            (Some(busy), _) => Err(busy),
            (None, Some(parent)) if !has_parent => Err(no_turn(parent)),
            (None, _) => Ok(()),
        }
    }

    async fn insert<S: Session>(&self, session: &mut S) -> Result<(), StoreError> {
        let new = &self.new;
        let [server, room, thread] = thread_values(&new.key.thread);
        let at = Value::Integer(integer(new.at.0));
        let sql = "INSERT INTO threads (server, room, thread, title, created_at, updated_at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT (server, room, thread) DO UPDATE SET \
                   title = COALESCE(threads.title, excluded.title), \
                   updated_at = CASE WHEN excluded.updated_at > threads.updated_at \
                   THEN excluded.updated_at ELSE threads.updated_at END RETURNING id";
        let values = [server, room, thread, new.title.as_deref().into(), at];
        let row = session.row(sql, &values).await?;
        let thread = Value::Integer(row.ok_or_else(not_returned)?.integer(0)?);

        let sql = "INSERT INTO turns (thread_id, run_id, parent, message, history, created_at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id";
        let values = [
            thread,
            Value::Text(&new.key.turn),
            new.parent.as_deref().into(),
            self.message.as_deref().into(),
            self.history.as_deref().into(),
            at,
        ];
        let row = session.row(sql, &values).await?;
        let turn = Value::Integer(row.ok_or_else(not_returned)?.integer(0)?);

        let sql = "INSERT INTO turn_states \
                   (turn_id, thread_id, status, owner, generation, blocks, updated_at, checkpoint) \
                   VALUES (?1, ?2, 'streaming', ?3, ?4, 0, ?5, ?6)";
        let values = [
            turn,
            thread,
            Value::Text(&new.owner),
            integer(Generation::FIRST.0).into(),
            at,
            new.checkpoint.as_deref().into(),
        ];
        session.execute(sql, &values).await.map(drop)
    }
}

fn not_returned() -> StoreError {
    StoreError::Other {
        message: "a row that was written was not returned".to_owned(),
    }
}

impl<S: Session> Change<S> for Begin {
    type Output = Generation;

    fn thread(&self) -> Option<&ThreadKey> {
        Some(&self.new.key.thread)
    }

    fn may_be_last(&self, _: &Generation) -> bool {
        false
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, Generation> {
        async move {
            self.check::<S>(session).await?;
            self.insert::<S>(session).await?;
            Ok(Generation::FIRST)
        }
        .boxed()
    }
}

/// Makes somebody else the owner of a turn.
pub(super) struct Claim {
    pub(super) turn: TurnKey,
    pub(super) seen: Generation,
    pub(super) owner: String,
}

impl<S: Session> Change<S> for Claim {
    type Output = Claimed;

    fn thread(&self) -> Option<&ThreadKey> {
        Some(&self.turn.thread)
    }

    fn may_be_last(&self, _: &Claimed) -> bool {
        false
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, Claimed> {
        async move {
            let state = read::state::<S>(session, &self.turn, S::WORDS.locked).await?;
            if state.status != TurnStatus::Streaming {
                let turn = self.turn.turn.clone();
                return Err(StoreError::Closed { turn });
            }
            check::owned(&self.turn.turn, self.seen, state.generation)?;
            let generation = state.generation.next();
            let sql = "UPDATE turn_states SET generation = ?2, owner = ?3 WHERE turn_id = ?1 \
                       RETURNING checkpoint";
            let values = [
                Value::Integer(state.turn_id),
                integer(generation.0).into(),
                Value::Text(&self.owner),
            ];
            let row = session.row(sql, &values).await?;
            let row = row.ok_or_else(not_returned)?;
            Ok(Claimed {
                generation,
                checkpoint: row.maybe_text(0)?.map(str::to_owned),
            })
        }
        .boxed()
    }
}

/// Stores a step of a turn: blocks, where the turn is with them, and events.
pub(super) struct Persist {
    turn: TurnKey,
    generation: Generation,
    write: Option<Write>,
    events: Events,
}

/// The blocks of a step, and where the turn is with them.
struct Write {
    first: u64,
    blocks: Vec<String>,
    status: TurnStatus,
    outcome: Option<String>,
    checkpoint: String,
    at: Timestamp,
}

/// Events of a turn's log.
struct Events {
    first: u64,
    data: Vec<String>,
}

impl Persist {
    pub(super) fn step(
        turn: &TurnKey,
        generation: Generation,
        batch: &PersistBatch,
    ) -> Result<Self, StoreError> {
        check::batch(batch)?;
        let outcome = batch.outcome.as_ref();
        let write = Write {
            first: batch.first,
            blocks: batch.blocks.iter().map(json).collect::<Result<_, _>>()?,
            status: batch.status,
            outcome: outcome.map(json).transpose()?,
            checkpoint: batch.checkpoint.clone(),
            at: batch.at,
        };
        Ok(Self {
            turn: turn.clone(),
            generation,
            write: Some(write),
            events: Events {
                first: batch.first_event,
                data: batch.events.clone(),
            },
        })
    }

    pub(super) fn events(
        turn: &TurnKey,
        generation: Generation,
        first: u64,
        events: &[String],
    ) -> Result<Self, StoreError> {
        check::events(events)?;
        Ok(Self {
            turn: turn.clone(),
            generation,
            write: None,
            events: Events {
                first,
                data: events.to_vec(),
            },
        })
    }

    /// Checks the step against the stored turn, and returns how many blocks and events of the step are stored already.
    async fn check<S: Session>(
        &self,
        session: &mut S,
        state: &TurnState,
    ) -> Result<(usize, usize), StoreError> {
        let turn = &self.turn.turn;
        check::owned(turn, self.generation, state.generation)?;
        let mut old_blocks = 0;
        if let Some(write) = &self.write {
            check::follows(turn, write.first, state.blocks)?;
            old_blocks = already(state.blocks, write.first, &write.blocks);
            self.check_blocks::<S>(session, state, write, old_blocks)
                .await?;
            let is_the_end = || {
                let is_same = state.status == write.status && state.outcome == write.outcome;
                is_same && old_blocks == write.blocks.len()
            };
            if state.status != TurnStatus::Streaming && !is_the_end() {
                let turn = turn.clone();
                return Err(StoreError::Closed { turn });
            }
        }
        let events = &self.events;
        if events.data.is_empty() && self.write.is_some() {
            return Ok((old_blocks, 0));
        }
        check::follows(turn, events.first, state.events)?;
        let old_events = already(state.events, events.first, &events.data);
        if old_events > 0 {
            let after = events.first.checked_sub(1);
            let stored = read::events::<S>(session, state.turn_id, after, old_events).await?;
            if let Some((_, stored)) = events.data.iter().zip(&stored).find(|(a, b)| **a != b.data)
            {
                return Err(StoreError::Conflict {
                    turn: turn.clone(),
                    number: stored.index,
                });
            }
        }
        Ok((old_blocks, old_events))
    }

    /// Checks that blocks that are sent again are the stored ones.
    async fn check_blocks<S: Session>(
        &self,
        session: &mut S,
        state: &TurnState,
        write: &Write,
        old: usize,
    ) -> Result<(), StoreError> {
        if old == 0 {
            return Ok(());
        }
        let sql = "SELECT block FROM blocks WHERE turn_id = ?1 AND sequence >= ?2 AND sequence < ?3 \
                   ORDER BY sequence";
        let values = [
            Value::Integer(state.turn_id),
            integer(write.first).into(),
            integer(write.first + old as u64).into(),
        ];
        let rows = session.rows(sql, &values).await?;
        for ((block, row), number) in write.blocks.iter().zip(&rows).zip(write.first..) {
            let stored = row.text(0)?;
            let parsed = || -> Result<(Block, Block), StoreError> {
                Ok((
                    read::parsed("a block", stored)?,
                    read::parsed("a block", block)?,
                ))
            };
            // Another version of the program may have written the same block differently.
            let is_same = stored == block || parsed().map(|(stored, block)| stored == block)?;
            if !is_same {
                let turn = self.turn.turn.clone();
                return Err(StoreError::Conflict { turn, number });
            }
        }
        Ok(())
    }
}

/// Returns how many entries from `first` on are among the stored ones.
fn already(stored: u64, first: u64, entries: &[String]) -> usize {
    let old = usize::try_from(stored - first).unwrap_or(usize::MAX);
    old.min(entries.len())
}

impl Write {
    async fn insert<S: Session>(
        &self,
        session: &mut S,
        state: &TurnState,
        old: usize,
    ) -> Result<(), StoreError> {
        let turn = Value::Integer(state.turn_id);
        let at = Value::Integer(integer(self.at.0));
        let new = self.blocks.get(old..).unwrap_or_default();
        let mut number = state.blocks;
        for blocks in new.chunks(ROWS) {
            let values: Vec<_> = blocks
                .iter()
                .zip(number..)
                .flat_map(|(block, number)| [turn, integer(number).into(), Value::Text(block), at])
                .collect();
            let sql = format!(
                "INSERT INTO blocks (turn_id, sequence, block, stored_at) VALUES {}",
                placeholders(blocks.len(), 4)
            );
            session.execute(&sql, &values).await?;
            number += blocks.len() as u64;
        }
        let sql = "UPDATE turn_states SET status = ?2, outcome = ?3, blocks = ?4, checkpoint = ?6, \
                   updated_at = CASE WHEN ?5 > updated_at THEN ?5 ELSE updated_at END \
                   WHERE turn_id = ?1";
        let is_open = self.status == TurnStatus::Streaming;
        let checkpoint = Some(&*self.checkpoint).filter(|_| is_open);
        let values = [
            turn,
            status_name(self.status).into(),
            self.outcome.as_deref().into(),
            integer(number).into(),
            at,
            checkpoint.into(),
        ];
        session.execute(sql, &values).await?;
        let sql = "UPDATE threads SET updated_at = ?2 WHERE id = ?1 AND updated_at < ?2";
        let values = [Value::Integer(state.thread_id), at];
        session.execute(sql, &values).await.map(drop)
    }
}

impl Events {
    async fn insert<S: Session>(
        &self,
        session: &mut S,
        state: &TurnState,
        old: usize,
    ) -> Result<(), StoreError> {
        let new = self.data.get(old..).unwrap_or_default();
        let mut position = state.events;
        for events in new.chunks(ROWS) {
            let values: Vec<_> = events
                .iter()
                .zip(position..)
                .flat_map(|(event, position)| {
                    let turn = Value::Integer(state.turn_id);
                    [turn, integer(position).into(), Value::Text(event)]
                })
                .collect();
            let sql = format!(
                "INSERT INTO events (turn_id, position, data) VALUES {}",
                placeholders(events.len(), 3)
            );
            session.execute(&sql, &values).await?;
            position += events.len() as u64;
        }
        Ok(())
    }
}

impl<S: Session> Change<S> for Persist {
    /// Where the turn is now.
    type Output = TurnStatus;

    fn thread(&self) -> Option<&ThreadKey> {
        Some(&self.turn.thread)
    }

    fn may_be_last(&self, status: &TurnStatus) -> bool {
        *status != TurnStatus::Streaming
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, TurnStatus> {
        async move {
            let state = read::state::<S>(session, &self.turn, S::WORDS.locked).await?;
            let (old_blocks, old_events) = self.check::<S>(session, &state).await?;
            let mut status = state.status;
            if let Some(write) = self
                .write
                .as_ref()
                .filter(|_| status == TurnStatus::Streaming)
            {
                write.insert::<S>(session, &state, old_blocks).await?;
                status = write.status;
            }
            self.events.insert::<S>(session, &state, old_events).await?;
            Ok(status)
        }
        .boxed()
    }
}

/// Gives a thread a title.
pub(super) struct Rename {
    pub(super) thread: ThreadKey,
    pub(super) title: String,
}

impl<S: Session> Change<S> for Rename {
    type Output = ();

    fn thread(&self) -> Option<&ThreadKey> {
        Some(&self.thread)
    }

    fn may_be_last(&self, (): &()) -> bool {
        true
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, ()> {
        async move {
            let sql =
                "UPDATE threads SET title = ?4 WHERE server = ?1 AND room = ?2 AND thread = ?3";
            let [server, room, name] = thread_values(&self.thread);
            let values = [server, room, name, Value::Text(&self.title)];
            match session.execute(sql, &values).await? {
                0 => Err(StoreError::NoThread {
                    thread: self.thread.clone(),
                }),
                _ => Ok(()),
            }
        }
        .boxed()
    }
}

/// Deletes a thread with all that belongs to it.
pub(super) struct Delete {
    pub(super) thread: ThreadKey,
}

impl<S: Session> Change<S> for Delete {
    /// Whether there was such a thread.
    type Output = bool;

    fn thread(&self) -> Option<&ThreadKey> {
        Some(&self.thread)
    }

    fn may_be_last(&self, _: &bool) -> bool {
        true
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, bool> {
        async move {
            let sql = "DELETE FROM threads WHERE server = ?1 AND room = ?2 AND thread = ?3";
            let deleted = session.execute(sql, &thread_values(&self.thread)).await?;
            Ok(deleted > 0)
        }
        .boxed()
    }
}

/// Notes that the user has seen events.
pub(super) struct Acknowledge {
    pub(super) turn: TurnKey,
    pub(super) index: u64,
}

impl<S: Session> Change<S> for Acknowledge {
    type Output = ();

    fn thread(&self) -> Option<&ThreadKey> {
        Some(&self.turn.thread)
    }

    fn may_be_last(&self, (): &()) -> bool {
        true
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, ()> {
        async move {
            let state = read::state::<S>(session, &self.turn, S::WORDS.locked).await?;
            check::acknowledged(&self.turn.turn, self.index, state.events)?;
            let index = Some(integer(self.index)).max(state.acknowledged);
            let sql = "UPDATE turn_states SET acknowledged = ?2 WHERE turn_id = ?1";
            let values = [Value::Integer(state.turn_id), Value::MaybeInteger(index)];
            session.execute(sql, &values).await.map(drop)
        }
        .boxed()
    }
}

/// Renews a lease, or ends it.
pub(super) struct Lease {
    pub(super) key: LeaseKey,
    /// None ends the lease.
    pub(super) term: Option<Duration>,
}

impl<S: Session> Change<S> for Lease {
    type Output = ();

    fn thread(&self) -> Option<&ThreadKey> {
        None
    }

    fn may_be_last(&self, (): &()) -> bool {
        false
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, ()> {
        async move {
            let LeaseKey { owner, id } = &self.key;
            let [owner, id] = [owner, id].map(|name| Value::Text(name));
            let now = S::WORDS.now;
            let Some(term) = self.term else {
                // With the leases that owners that died have left behind.
                let sql = format!(
                    "DELETE FROM leases WHERE (owner = ?1 AND id = ?2) \
                     OR expires_at < {now} - {FORGOTTEN_AFTER_MS}"
                );
                return session.execute(&sql, &[owner, id]).await.map(drop);
            };
            let sql = format!(
                "INSERT INTO leases (owner, id, expires_at) VALUES (?1, ?2, {now} + ?3) \
                 ON CONFLICT (owner, id) DO UPDATE SET expires_at = excluded.expires_at"
            );
            let term = i64::try_from(term.as_millis()).unwrap_or(i64::MAX / 2);
            let values = [owner, id, term.into()];
            session.execute(&sql, &values).await.map(drop)
        }
        .boxed()
    }
}

/// Changes nothing, and is refused where nothing may be changed.
pub(super) struct Check;

impl<S: Session> Change<S> for Check {
    type Output = ();

    fn thread(&self) -> Option<&ThreadKey> {
        None
    }

    fn may_be_last(&self, (): &()) -> bool {
        false
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, ()> {
        async move {
            let sql = "UPDATE threads SET title = title WHERE 1 = 0";
            session.execute(sql, &[]).await.map(drop)
        }
        .boxed()
    }
}
