//! The changes of a store, as statements.

mod at_once;
mod begin;
mod persist;

pub(super) use begin::Begin;
pub(super) use persist::Persist;

use super::change::Change;
use super::database::{Row, Session, Value};
use super::read::{self, integer, thread_values};
use crate::store::record::{Claimed, Generation, TurnKey};
use crate::store::{LeaseKey, StoreError, check};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::TurnStatus;

/// The most rows of one statement: few enough for the number of values that each database takes.
const MAX_ROWS_PER_STATEMENT: usize = 200;

/// The time after which expired leases are deleted.
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

fn not_returned() -> StoreError {
    StoreError::Other {
        message: "a row that was written was not returned".to_owned(),
    }
}

/// Changes the owner of a turn.
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

/// Drops the logs of turns, but for the last event of each.
pub(super) struct DropLogs {
    pub(super) turns: Vec<i64>,
}

impl<S: Session> Change<S> for DropLogs {
    type Output = ();

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, ()> {
        async move {
            let sql = "DELETE FROM events WHERE turn_id = ?1 AND position < \
                       (SELECT MAX(e.position) FROM events e WHERE e.turn_id = ?1)";
            for turn in &self.turns {
                session.execute(sql, &[Value::Integer(*turn)]).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

/// Changes nothing, and is refused where nothing may be changed.
pub(super) struct Check;

impl<S: Session> Change<S> for Check {
    type Output = ();

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, ()> {
        async move {
            let sql = "UPDATE threads SET title = title WHERE 1 = 0";
            session.execute(sql, &[]).await.map(drop)
        }
        .boxed()
    }
}
