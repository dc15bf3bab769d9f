//! Begins a turn.

use super::{Applied, json, not_returned};
use crate::store::record::{Generation, NewTurn};
use crate::store::sql::change::Change;
use crate::store::sql::database::{Row, Session, Value};
use crate::store::sql::read::{integer, no_turn, thread_values};
use crate::store::{StoreError, check};
use futures::FutureExt;
use stepwell_core::registry::ThreadKey;

/// Adds the thread if it is new.
const THREAD: &str = "INSERT INTO threads (server, room, thread, title, created_at, updated_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT (server, room, thread) DO UPDATE SET \
     title = COALESCE(threads.title, excluded.title), \
     updated_at = CASE WHEN excluded.updated_at > threads.updated_at \
     THEN excluded.updated_at ELSE threads.updated_at END RETURNING id";

/// Begins a turn.
pub(in crate::store::sql) struct Begin {
    new: NewTurn,
    message: Option<String>,
    history: Option<String>,
}

impl Begin {
    pub(in crate::store::sql) fn new(new: &NewTurn) -> Result<Self, StoreError> {
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

    /// Inserts the turn, as [`insert`](Self::insert) does, in one statement.
    async fn insert_at_once<S: Session>(&self, session: &mut S) -> Result<(), StoreError> {
        let sql = format!(
            "WITH h AS ({THREAD}), \
             t AS (INSERT INTO turns (thread_id, run_id, parent, message, history, created_at) \
             SELECT h.id, ?6, ?7, ?8, ?9, ?5 FROM h RETURNING id, thread_id) \
             INSERT INTO turn_states \
             (turn_id, thread_id, status, owner, generation, blocks, updated_at, checkpoint) \
             SELECT t.id, t.thread_id, 'streaming', ?10, ?11, 0, ?5, ?12 FROM t"
        );
        let new = &self.new;
        let [server, room, thread] = thread_values(&new.key.thread);
        let values = [
            server,
            room,
            thread,
            new.title.as_deref().into(),
            integer(new.at.0).into(),
            Value::Text(&new.key.turn),
            new.parent.as_deref().into(),
            self.message.as_deref().into(),
            self.history.as_deref().into(),
            Value::Text(&new.owner),
            integer(Generation::FIRST.0).into(),
            new.checkpoint.as_deref().into(),
        ];
        session.execute(&sql, &values).await.map(drop)
    }

    async fn insert<S: Session>(&self, session: &mut S) -> Result<(), StoreError> {
        let new = &self.new;
        let [server, room, thread] = thread_values(&new.key.thread);
        let at = Value::Integer(integer(new.at.0));
        let values = [server, room, thread, new.title.as_deref().into(), at];
        let row = session.row(THREAD, &values).await?;
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

impl<S: Session> Change<S> for Begin {
    type Output = Generation;

    fn thread(&self) -> Option<&ThreadKey> {
        Some(&self.new.key.thread)
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> Applied<'a, Generation> {
        async move {
            self.check::<S>(session).await?;
            match S::WRITES_IN_QUERIES {
                true => self.insert_at_once::<S>(session).await?,
                false => self.insert::<S>(session).await?,
            }
            Ok(Generation::FIRST)
        }
        .boxed()
    }
}
