//! The statements that read.

use super::database::{Row, Session, Value};
use crate::store::record::{
    EventLog, Generation, LoggedEvent, RESTING, ThreadQuery, ThreadRecord, TurnKey, TurnOutline,
    Unfinished,
};
use crate::store::{LeaseKey, StoreError};
use serde::de::DeserializeOwned;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{Outcome, TurnStatus};
use stepwell_core::session::{Turn, TurnBlock};
use stepwell_core::{RunId, Timestamp};

/// The fields of a turn that change, and its number.
pub(super) struct TurnState {
    pub(super) turn_id: i64,
    pub(super) thread_id: i64,
    pub(super) status: TurnStatus,
    pub(super) outcome: Option<String>,
    pub(super) generation: Generation,
    pub(super) blocks: u64,
    pub(super) events: u64,
    pub(super) acknowledged: Option<i64>,
}

/// The number of events of a turn `s`: events are only added, so that a turn's state need not count them.
pub(super) const EVENTS: &str =
    "(SELECT COALESCE(MAX(e.position) + 1, 0) FROM events e WHERE e.turn_id = s.turn_id)";

/// The most owners whose processes have died that are looked at together; the leases of the others expire.
const MAX_DEAD_OWNERS: usize = 100;

/// The number of turns in one query. Each takes four of the values that a statement may have.
const MAX_TURNS_PER_QUERY: usize = 500;

/// A number as databases have it. Times and counts beyond them do not occur.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn status_name(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Streaming => "streaming",
        TurnStatus::Complete => "complete",
        TurnStatus::Failed => "failed",
        TurnStatus::Cancelled => "cancelled",
    }
}

pub(super) fn status_of(name: &str) -> Result<TurnStatus, StoreError> {
    Ok(match name {
        "streaming" => TurnStatus::Streaming,
        "complete" => TurnStatus::Complete,
        "failed" => TurnStatus::Failed,
        "cancelled" => TurnStatus::Cancelled,
        other => {
            return Err(StoreError::Damaged {
                message: format!("a turn has the status `{other}`"),
            });
        }
    })
}

pub(super) fn parsed<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Damaged {
        message: format!("{what} cannot be read: {error}"),
    })
}

fn timestamp(row: &impl Row, column: usize) -> Result<Timestamp, StoreError> {
    row.count(column).map(Timestamp)
}

pub(super) fn no_turn(turn: &RunId) -> StoreError {
    StoreError::NoTurn { turn: turn.clone() }
}

/// Returns the state of a turn. With `lock` no other transaction changes it before this one is over.
pub(super) async fn state<S: Session>(
    session: &mut S,
    key: &TurnKey,
    lock: &str,
) -> Result<TurnState, StoreError> {
    let sql = format!(
        "SELECT s.turn_id, s.thread_id, s.status, s.outcome, s.generation, s.blocks, {EVENTS}, s.acknowledged \
         FROM turn_states s JOIN turns t ON t.id = s.turn_id JOIN threads h ON h.id = t.thread_id \
         WHERE h.server = ?1 AND h.room = ?2 AND h.thread = ?3 AND t.run_id = ?4{lock}"
    );
    let row = session.row(&sql, &turn_values(key)).await?;
    let row = row.ok_or_else(|| no_turn(&key.turn))?;
    Ok(TurnState {
        turn_id: row.integer(0)?,
        thread_id: row.integer(1)?,
        status: status_of(row.text(2)?)?,
        outcome: row.maybe_text(3)?.map(str::to_owned),
        generation: Generation(row.count(4)?),
        blocks: row.count(5)?,
        events: row.count(6)?,
        acknowledged: row.maybe_integer(7)?,
    })
}

pub(super) fn thread_values(key: &ThreadKey) -> [Value<'_>; 3] {
    [
        Value::Text(&key.server),
        Value::Text(&key.room),
        Value::Text(&key.thread),
    ]
}

pub(super) fn turn_values(key: &TurnKey) -> [Value<'_>; 4] {
    let [server, room, thread] = thread_values(&key.thread);
    [server, room, thread, Value::Text(&key.turn)]
}

/// The turns that `chosen` chooses, which makes a table of ids and their order.
async fn turns_of<S: Session>(
    session: &mut S,
    chosen: &str,
    values: &[Value<'_>],
) -> Result<Vec<Turn>, StoreError> {
    let sql = format!(
        "WITH RECURSIVE {chosen} \
         SELECT t.id, t.run_id, t.parent, t.message, s.status, s.outcome, t.created_at, s.updated_at, t.history \
         FROM chosen c JOIN turns t ON t.id = c.id JOIN turn_states s ON s.turn_id = t.id \
         ORDER BY c.place"
    );
    let rows = session.rows(&sql, values).await?;
    let mut places = HashMap::with_capacity(rows.len());
    let mut turns = Vec::with_capacity(rows.len());
    for row in &rows {
        places.insert(row.integer(0)?, turns.len());
        let message = row.maybe_text(3)?;
        let outcome = row.maybe_text(5)?;
        let history = row.maybe_text(8)?;
        turns.push(Turn {
            id: row.text(1)?.into(),
            parent: row.maybe_text(2)?.map(Into::into),
            history: history
                .map(|history| parsed("a history", history))
                .transpose()?,
            message: message
                .map(|message| parsed("a message", message))
                .transpose()?,
            status: status_of(row.text(4)?)?,
            outcome: outcome.map(outcome_of).transpose()?,
            created_at: timestamp(row, 6)?,
            updated_at: timestamp(row, 7)?,
            blocks: Vec::new(),
        });
    }
    let sql = format!(
        "WITH RECURSIVE {chosen} SELECT b.turn_id, b.block, b.stored_at \
         FROM chosen c JOIN blocks b ON b.turn_id = c.id ORDER BY b.turn_id, b.sequence"
    );
    for row in session.rows(&sql, values).await? {
        let turn = places
            .get(&row.integer(0)?)
            .and_then(|at| turns.get_mut(*at));
        if let Some(turn) = turn {
            turn.blocks.push(TurnBlock {
                block: parsed("a block", row.text(1)?)?,
                at: timestamp(&row, 2)?,
            });
        }
    }
    Ok(turns)
}

fn outcome_of(json: &str) -> Result<Outcome, StoreError> {
    parsed("an outcome", json)
}

pub(super) async fn turn<S: Session>(
    session: &mut S,
    key: &TurnKey,
) -> Result<Option<Turn>, StoreError> {
    let chosen = "chosen (id, place) AS (SELECT t.id, 0 FROM turns t JOIN threads h ON h.id = t.thread_id \
                  WHERE h.server = ?1 AND h.room = ?2 AND h.thread = ?3 AND t.run_id = ?4)";
    let turns = turns_of::<S>(session, chosen, &turn_values(key)).await?;
    Ok(turns.into_iter().next())
}

pub(super) async fn path<S: Session>(
    session: &mut S,
    key: &TurnKey,
    limit: Option<usize>,
) -> Result<Vec<Turn>, StoreError> {
    // `place` goes down: the parents come first.
    let chosen = "up (id, thread_id, parent, place) AS ( \
                  SELECT t.id, t.thread_id, t.parent, 0 FROM turns t JOIN threads h ON h.id = t.thread_id \
                  WHERE h.server = ?1 AND h.room = ?2 AND h.thread = ?3 AND t.run_id = ?4 \
                  UNION ALL SELECT t.id, t.thread_id, t.parent, up.place - 1 \
                  FROM up JOIN turns t ON t.thread_id = up.thread_id AND t.run_id = up.parent \
                  WHERE up.place > 1 - ?5), \
                  chosen (id, place) AS (SELECT id, place FROM up)";
    let [server, room, thread, turn] = turn_values(key);
    let limit = limit.map_or(i64::MAX / 2, |limit| integer(limit as u64));
    let values = [server, room, thread, turn, limit.into()];
    let turns = turns_of::<S>(session, chosen, &values).await?;
    if turns.is_empty() {
        return Err(no_turn(&key.turn));
    }
    Ok(turns)
}

pub(super) async fn turns<S: Session>(
    session: &mut S,
    thread: &ThreadKey,
) -> Result<Vec<Turn>, StoreError> {
    let chosen = "chosen (id, place) AS (SELECT t.id, t.id FROM turns t JOIN threads h ON h.id = t.thread_id \
                  WHERE h.server = ?1 AND h.room = ?2 AND h.thread = ?3)";
    turns_of::<S>(session, chosen, &thread_values(thread)).await
}

pub(super) async fn outline<S: Session>(
    session: &mut S,
    thread: &ThreadKey,
) -> Result<Vec<TurnOutline>, StoreError> {
    let sql = "SELECT t.run_id, t.parent, t.created_at FROM turns t JOIN threads h ON h.id = t.thread_id \
               WHERE h.server = ?1 AND h.room = ?2 AND h.thread = ?3 ORDER BY t.id";
    let rows = session.rows(sql, &thread_values(thread)).await?;
    let outlines = rows.iter().map(|row| {
        Ok(TurnOutline {
            id: row.text(0)?.into(),
            parent: row.maybe_text(1)?.map(Into::into),
            created_at: timestamp(row, 2)?,
        })
    });
    outlines.collect()
}

pub(super) async fn unfinished<S: Session>(
    session: &mut S,
    owner: Option<&str>,
) -> Result<Vec<Unfinished>, StoreError> {
    let of_owner = owner.map_or("", |_| " AND s.owner = ?1");
    let values: Vec<_> = owner.map(Value::Text).into_iter().collect();
    unfinished_where::<S>(session, of_owner, &values).await
}

/// Returns the unfinished turns whose owners hold no lease, or only those of dead processes.
pub(super) async fn orphans<S: Session>(session: &mut S) -> Result<Vec<Unfinished>, StoreError> {
    let now = S::WORDS.now;
    let sql = format!("SELECT owner, id FROM leases WHERE expires_at > {now}");
    let rows = session.rows(&sql, &[]).await?;
    let (mut dead, mut alive) = (HashSet::new(), HashSet::new());
    for row in &rows {
        let key = LeaseKey {
            owner: row.text(0)?.to_owned(),
            id: row.text(1)?.to_owned(),
        };
        let owners = if key.is_of_dead_process() {
            &mut dead
        } else {
            &mut alive
        };
        owners.insert(key.owner);
    }
    let dead: Vec<_> = dead.difference(&alive).take(MAX_DEAD_OWNERS).collect();
    let values: Vec<_> = dead.iter().map(|owner| Value::Text(owner)).collect();
    let places: Vec<_> = (1..=dead.len()).map(|place| format!("?{place}")).collect();
    // Of a list without an entry SQL knows nothing.
    let is_of_dead = match places.is_empty() {
        true => String::new(),
        false => format!(" OR s.owner IN ({})", places.join(", ")),
    };
    let is_orphan = format!(
        " AND s.owner <> '{RESTING}' \
         AND (NOT EXISTS (SELECT 1 FROM leases l WHERE l.owner = s.owner AND l.expires_at > {now}){is_of_dead})"
    );
    unfinished_where::<S>(session, &is_orphan, &values).await
}

async fn unfinished_where<S: Session>(
    session: &mut S,
    condition: &str,
    values: &[Value<'_>],
) -> Result<Vec<Unfinished>, StoreError> {
    let sql = format!(
        "SELECT h.server, h.room, h.thread, t.run_id, s.generation, s.owner, s.updated_at \
         FROM turn_states s JOIN turns t ON t.id = s.turn_id JOIN threads h ON h.id = t.thread_id \
         WHERE s.status = 'streaming'{condition} \
         ORDER BY t.created_at, h.server, h.room, h.thread"
    );
    let rows = session.rows(&sql, values).await?;
    let unfinished = rows.iter().map(|row| {
        let thread = ThreadKey::new(row.text(0)?, row.text(1)?, row.text(2)?);
        Ok(Unfinished {
            key: TurnKey::new(thread, row.text(3)?),
            generation: Generation(row.count(4)?),
            owner: row.text(5)?.to_owned(),
            updated_at: timestamp(row, 6)?,
        })
    });
    unfinished.collect()
}

/// The threads that `condition` holds for.
async fn records<S: Session>(
    session: &mut S,
    condition: &str,
    values: &[Value<'_>],
) -> Result<Vec<ThreadRecord>, StoreError> {
    let sql = format!(
        "SELECT h.server, h.room, h.thread, h.title, h.created_at, h.updated_at, \
         (SELECT t.run_id FROM turns t WHERE t.thread_id = h.id ORDER BY t.id DESC LIMIT 1), \
         u.run_id, s.generation, s.owner, s.updated_at \
         FROM threads h LEFT JOIN turn_states s ON s.thread_id = h.id AND s.status = 'streaming' \
         LEFT JOIN turns u ON u.id = s.turn_id WHERE {condition}"
    );
    let rows = session.rows(&sql, values).await?;
    let records = rows.iter().map(|row| {
        let key = ThreadKey::new(row.text(0)?, row.text(1)?, row.text(2)?);
        let unfinished = match row.maybe_text(7)? {
            Some(turn) => Some(Unfinished {
                key: TurnKey::new(key.clone(), turn),
                generation: Generation(row.count(8)?),
                owner: row.text(9)?.to_owned(),
                updated_at: timestamp(row, 10)?,
            }),
            None => None,
        };
        Ok(ThreadRecord {
            key,
            title: row.maybe_text(3)?.map(str::to_owned),
            created_at: timestamp(row, 4)?,
            updated_at: timestamp(row, 5)?,
            latest: row.maybe_text(6)?.map(Into::into),
            unfinished,
        })
    });
    records.collect()
}

pub(super) async fn thread<S: Session>(
    session: &mut S,
    thread: &ThreadKey,
) -> Result<Option<ThreadRecord>, StoreError> {
    let condition = "h.server = ?1 AND h.room = ?2 AND h.thread = ?3";
    let records = records::<S>(session, condition, &thread_values(thread)).await?;
    Ok(records.into_iter().next())
}

pub(super) async fn threads<S: Session>(
    session: &mut S,
    query: &ThreadQuery,
) -> Result<Vec<ThreadRecord>, StoreError> {
    let mut values: Vec<Value<'_>> = vec![integer(query.limit as u64).into()];
    let mut conditions = vec!["1 = 1".to_owned()];
    for (column, wanted) in [("server", &query.server), ("room", &query.room)] {
        if let Some(wanted) = wanted {
            values.push(Value::Text(wanted));
            conditions.push(format!("h.{column} = ?{}", values.len()));
        }
    }
    if let Some(after) = &query.after {
        values.push(integer(after.updated_at.0).into());
        let at = values.len();
        values.extend(thread_values(&after.key));
        let [server, room, thread] = [at + 1, at + 2, at + 3];
        conditions.push(format!(
            "(h.updated_at < ?{at} OR (h.updated_at = ?{at} \
             AND (h.server, h.room, h.thread) > (?{server}, ?{room}, ?{thread})))"
        ));
    }
    let mut condition = conditions.join(" AND ");
    condition.push_str(" ORDER BY h.updated_at DESC, h.server, h.room, h.thread LIMIT ?1");
    records::<S>(session, &condition, &values).await
}

pub(super) async fn events<S: Session>(
    session: &mut S,
    turn: i64,
    after: Option<u64>,
    limit: usize,
) -> Result<Vec<LoggedEvent>, StoreError> {
    let sql = "SELECT position, data FROM events WHERE turn_id = ?1 AND position > ?2 \
               ORDER BY position LIMIT ?3";
    let after = after.map_or(-1, integer);
    let values = [turn.into(), after.into(), integer(limit as u64).into()];
    logged::<S>(session, sql, &values).await
}

/// Returns events, as [`events`] does, of a turn by its name.
pub(super) async fn events_of<S: Session>(
    session: &mut S,
    key: &TurnKey,
    after: Option<u64>,
    limit: usize,
) -> Result<Vec<LoggedEvent>, StoreError> {
    let sql = "SELECT position, data FROM events WHERE turn_id = \
               (SELECT t.id FROM turns t JOIN threads h ON h.id = t.thread_id \
               WHERE h.server = ?1 AND h.room = ?2 AND h.thread = ?3 AND t.run_id = ?4) \
               AND position > ?5 ORDER BY position LIMIT ?6";
    let [server, room, thread, turn] = turn_values(key);
    let after = after.map_or(-1, integer);
    let limit = integer(limit as u64).into();
    let values = [server, room, thread, turn, after.into(), limit];
    events_or_no_turn(session, key, sql, &values).await
}

/// Returns events, as [`events_of`] does, of up to `bytes` bytes, but always the next one. The texts of those beyond
/// are not read.
pub(super) async fn events_within<S: Session>(
    session: &mut S,
    key: &TurnKey,
    (after, limit, bytes): (Option<u64>, usize, usize),
) -> Result<Vec<LoggedEvent>, StoreError> {
    let sql = "WITH page (turn_id, position, bytes) AS (\
               SELECT turn_id, position, OCTET_LENGTH(data) FROM events WHERE turn_id = \
               (SELECT t.id FROM turns t JOIN threads h ON h.id = t.thread_id \
               WHERE h.server = ?1 AND h.room = ?2 AND h.thread = ?3 AND t.run_id = ?4) \
               AND position > ?5 ORDER BY position LIMIT ?6), \
               summed (turn_id, position, total) AS (\
               SELECT turn_id, position, SUM(bytes) OVER (ORDER BY position) FROM page) \
               SELECT e.position, e.data FROM summed s \
               JOIN events e ON e.turn_id = s.turn_id AND e.position = s.position \
               WHERE s.total <= ?7 OR s.position = (SELECT MIN(position) FROM page) ORDER BY e.position";
    let [server, room, thread, turn] = turn_values(key);
    let after = after.map_or(-1, integer);
    let [limit, bytes] = [limit, bytes].map(|count| integer(count as u64).into());
    let values = [server, room, thread, turn, after.into(), limit, bytes];
    events_or_no_turn(session, key, sql, &values).await
}

async fn events_or_no_turn<S: Session>(
    session: &mut S,
    key: &TurnKey,
    sql: &str,
    values: &[Value<'_>],
) -> Result<Vec<LoggedEvent>, StoreError> {
    let events = logged::<S>(session, sql, values).await?;
    if events.is_empty() {
        state::<S>(session, key, "").await?;
    }
    Ok(events)
}

async fn logged<S: Session>(
    session: &mut S,
    sql: &str,
    values: &[Value<'_>],
) -> Result<Vec<LoggedEvent>, StoreError> {
    let rows = session.rows(sql, values).await?;
    let events = rows.iter().map(|row| {
        Ok(LoggedEvent {
            index: row.count(0)?,
            data: row.text(1)?.to_owned(),
        })
    });
    events.collect()
}

/// Returns the numbers of turns that ended in this time and whose logs were not dropped.
pub(super) async fn logs_to_drop<S: Session>(
    session: &mut S,
    ended: &Range<Timestamp>,
    limit: usize,
) -> Result<Vec<i64>, StoreError> {
    // A log that was dropped does not begin at its beginning.
    let sql = "SELECT s.turn_id FROM turn_states s \
               WHERE s.status <> 'streaming' AND s.updated_at >= ?1 AND s.updated_at < ?2 \
               AND EXISTS (SELECT 1 FROM events e WHERE e.turn_id = s.turn_id AND e.position = 0) \
               AND EXISTS (SELECT 1 FROM events e WHERE e.turn_id = s.turn_id AND e.position = 1) \
               ORDER BY s.updated_at LIMIT ?3";
    let values = [
        integer(ended.start.0).into(),
        integer(ended.end.0).into(),
        integer(limit as u64).into(),
    ];
    let rows = session.rows(sql, &values).await?;
    rows.iter().map(|row| row.integer(0)).collect()
}

pub(super) async fn event_log<S: Session>(
    session: &mut S,
    key: &TurnKey,
) -> Result<EventLog, StoreError> {
    let state = state::<S>(session, key, "").await?;
    Ok(log(state.events, state.acknowledged))
}

fn log(events: u64, acknowledged: Option<i64>) -> EventLog {
    EventLog {
        next: events,
        acknowledged: acknowledged.and_then(|index| u64::try_from(index).ok()),
    }
}

pub(super) async fn event_logs<S: Session>(
    session: &mut S,
    turns: &[TurnKey],
) -> Result<Vec<Option<EventLog>>, StoreError> {
    let mut logs = vec![None; turns.len()];
    for (turns, logs) in turns
        .chunks(MAX_TURNS_PER_QUERY)
        .zip(logs.chunks_mut(MAX_TURNS_PER_QUERY))
    {
        let wanted = (0..turns.len()).map(|place| {
            let first = 4 * place + 1;
            let [server, room, thread, turn] = [first, first + 1, first + 2, first + 3];
            format!("({place}, ?{server}, ?{room}, ?{thread}, ?{turn})")
        });
        let wanted = wanted.collect::<Vec<_>>().join(", ");
        let sql = format!(
            "WITH wanted (place, server, room, thread, run_id) AS (VALUES {wanted}) \
             SELECT CAST(w.place AS BIGINT), {EVENTS}, s.acknowledged FROM wanted w \
             JOIN threads h ON h.server = w.server AND h.room = w.room AND h.thread = w.thread \
             JOIN turns t ON t.thread_id = h.id AND t.run_id = w.run_id \
             JOIN turn_states s ON s.turn_id = t.id"
        );
        let values: Vec<_> = turns.iter().flat_map(turn_values).collect();
        for row in session.rows(&sql, &values).await? {
            let place = usize::try_from(row.count(0)?).ok();
            if let Some(found) = place.and_then(|place| logs.get_mut(place)) {
                *found = Some(log(row.count(1)?, row.maybe_integer(2)?));
            }
        }
    }
    Ok(logs)
}
