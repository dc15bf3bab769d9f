//! Stores a step of a turn.

use super::{Applied, MAX_ROWS_PER_STATEMENT, json, placeholders};
use crate::store::record::{Generation, LoggedEvent, PersistBatch, TurnKey};
use crate::store::sql::change::Change;
use crate::store::sql::database::{Row, Session, Value};
use crate::store::sql::read::{self, TurnState, integer, status_name};
use crate::store::{StoreError, check};
use futures::FutureExt;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{Block, TurnStatus};

/// Stores a step of a turn: blocks, where the turn is with them, and events.
pub(in crate::store::sql) struct Persist {
    pub(super) turn: TurnKey,
    pub(super) generation: Generation,
    pub(super) write: Option<Write>,
    pub(super) events: Events,
}

/// The blocks of a step, and where the turn is with them.
pub(super) struct Write {
    pub(super) first: u64,
    pub(super) blocks: Vec<String>,
    pub(super) status: TurnStatus,
    pub(super) outcome: Option<String>,
    pub(super) checkpoint: String,
    pub(super) at: Timestamp,
}

/// Events of a turn's log.
pub(super) struct Events {
    pub(super) first: u64,
    pub(super) data: Vec<String>,
}

impl Persist {
    pub(in crate::store::sql) fn step(
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

    pub(in crate::store::sql) fn events(
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
            let is_other = |stored: &&LoggedEvent| {
                let place = usize::try_from(stored.index - events.first);
                let event = place.ok().and_then(|place| events.data.get(place));
                event.is_some_and(|event| *event != stored.data)
            };
            if let Some(stored) = stored.iter().find(is_other) {
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
    /// Returns whether later steps are stored already. An earlier try of this one was given up, and arrives after them: its
    /// checkpoint is older than theirs.
    fn is_late(&self, stored: u64) -> bool {
        self.status == TurnStatus::Streaming && self.first + (self.blocks.len() as u64) < stored
    }

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
        for blocks in new.chunks(MAX_ROWS_PER_STATEMENT) {
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
        for events in new.chunks(MAX_ROWS_PER_STATEMENT) {
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
            if S::WRITES_IN_QUERIES
                && let Some(status) = self.at_once(session).await?
            {
                return Ok(status);
            }
            let state = read::state::<S>(session, &self.turn, S::WORDS.locked).await?;
            let (old_blocks, old_events) = self.check::<S>(session, &state).await?;
            let mut status = state.status;
            if let Some(write) = self
                .write
                .as_ref()
                .filter(|write| status == TurnStatus::Streaming && !write.is_late(state.blocks))
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
