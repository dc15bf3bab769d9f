//! A step of a turn as one statement, for a database that writes within a query: each statement is a round trip.

use super::persist::Persist;
use crate::store::StoreError;
use crate::store::sql::database::{Row, Session, Value};
use crate::store::sql::read::{EVENTS, integer, status_name, status_of, turn_values};
use stepwell_core::run::TurnStatus;

/// The turn, if the step follows what is stored of it.
const TURN: &str = "SELECT s.turn_id, s.thread_id, s.status FROM turn_states s \
     JOIN turns t ON t.id = s.turn_id JOIN threads h ON h.id = t.thread_id \
     WHERE h.server = ?1 AND h.room = ?2 AND h.thread = ?3 AND t.run_id = ?4 AND s.generation = ?5";

impl Persist {
    /// Stores the step, and returns where the turn is now. `None` if the step does not follow what is stored, or a part of it
    /// is: nothing has changed then.
    pub(super) async fn at_once<S: Session>(
        &self,
        session: &mut S,
    ) -> Result<Option<TurnStatus>, StoreError> {
        match &self.write {
            Some(_) => self.step_at_once(session).await,
            None => self.events_at_once(session).await,
        }
    }

    async fn step_at_once<S: Session>(
        &self,
        session: &mut S,
    ) -> Result<Option<TurnStatus>, StoreError> {
        let Some(write) = &self.write else {
            return Ok(None);
        };
        let locked = S::WORDS.locked;
        let sql = format!(
            "WITH s AS ({TURN} AND s.status = 'streaming' AND s.blocks = ?6 \
             AND (?7 < 0 OR {EVENTS} = ?7){locked}), \
             b AS (INSERT INTO blocks (turn_id, sequence, block, stored_at) \
             SELECT s.turn_id, ?6 + v.place - 1, v.block, ?8 \
             FROM s, UNNEST(?9) WITH ORDINALITY AS v (block, place)), \
             e AS (INSERT INTO events (turn_id, position, data) \
             SELECT s.turn_id, ?7 + v.place - 1, v.data \
             FROM s, UNNEST(?10) WITH ORDINALITY AS v (data, place)), \
             h AS (UPDATE threads SET updated_at = ?8 FROM s \
             WHERE threads.id = s.thread_id AND threads.updated_at < ?8) \
             UPDATE turn_states SET status = ?11, outcome = ?12, blocks = ?6 + ?13, checkpoint = ?14, \
             updated_at = GREATEST(turn_states.updated_at, ?8) \
             FROM s WHERE turn_states.turn_id = s.turn_id RETURNING turn_states.turn_id"
        );
        let [server, room, thread, turn] = turn_values(&self.turn);
        let is_open = write.status == TurnStatus::Streaming;
        // Without events it does not matter how many there are.
        let first_event = match self.events.data.is_empty() {
            true => -1,
            false => integer(self.events.first),
        };
        let values = [
            server,
            room,
            thread,
            turn,
            integer(self.generation.0).into(),
            integer(write.first).into(),
            first_event.into(),
            integer(write.at.0).into(),
            Value::Texts(&write.blocks),
            Value::Texts(&self.events.data),
            status_name(write.status).into(),
            write.outcome.as_deref().into(),
            integer(write.blocks.len() as u64).into(),
            Some(&*write.checkpoint).filter(|_| is_open).into(),
        ];
        let row = session.row(&sql, &values).await?;
        Ok(row.map(|_| write.status))
    }

    async fn events_at_once<S: Session>(
        &self,
        session: &mut S,
    ) -> Result<Option<TurnStatus>, StoreError> {
        let locked = S::WORDS.locked;
        let sql = format!(
            "WITH s AS ({TURN} AND {EVENTS} = ?6{locked}), \
             e AS (INSERT INTO events (turn_id, position, data) \
             SELECT s.turn_id, ?6 + v.place - 1, v.data \
             FROM s, UNNEST(?7) WITH ORDINALITY AS v (data, place)) \
             SELECT s.status FROM s"
        );
        let [server, room, thread, turn] = turn_values(&self.turn);
        let values = [
            server,
            room,
            thread,
            turn,
            integer(self.generation.0).into(),
            integer(self.events.first).into(),
            Value::Texts(&self.events.data),
        ];
        let row = session.row(&sql, &values).await?;
        row.map(|row| status_of(row.text(0)?)).transpose()
    }
}
