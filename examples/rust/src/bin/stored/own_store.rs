//! A store in the app's own database, here SQLite by `rusqlite`: `Agent::builder(model).store(Arc::new(store))`.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use std::sync::{Mutex, PoisonError};
use stepwell_io::core::run::TurnStatus;
use stepwell_io::core::session::{Turn, TurnBlock};
use stepwell_io::store::{
    Claimed, Generation, NewTurn, PersistBatch, StoreError, StoreFuture, ThreadRecord, TurnKey,
    TurnStore, Unfinished, check,
};
use stepwell_io::{RunId, ThreadKey};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS turns (
    number INTEGER PRIMARY KEY, server TEXT, room TEXT, thread TEXT, turn TEXT, title TEXT, record TEXT, is_open INTEGER,
    owner TEXT, generation INTEGER, checkpoint TEXT, UNIQUE (server, room, thread, turn))";
const TURNS: &str =
    "SELECT server, room, thread, turn, title, record, owner, generation, checkpoint FROM turns";
const OF_THREAD: &str = "server = ? AND room = ? AND thread = ?";

/// One connection, whose transactions run one after the other.
#[derive(Debug)]
pub(crate) struct OwnStore(Mutex<Connection>);

/// A row.
struct Stored {
    key: TurnKey,
    title: Option<String>,
    turn: Turn,
    owner: String,
    generation: Generation,
    checkpoint: Option<String>,
}

impl OwnStore {
    /// Opens a database, and creates the table if there is none.
    ///
    /// # Errors
    /// The file cannot be opened or written.
    pub(crate) fn open(path: &str) -> Result<Self, StoreError> {
        let connection = Connection::open(path).map_err(failed)?;
        connection.execute_batch(SCHEMA).map_err(failed)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Runs a transaction, which is rolled back if it fails.
    fn transaction<'a, T: Send + 'a>(
        &'a self,
        run: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let mut connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let immediate = TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(immediate);
            let transaction = transaction.map_err(failed)?;
            let done = run(&transaction)?;
            transaction.commit().map_err(failed)?;
            Ok(done)
        })
    }
}

// For `map_err`, which passes errors by value.
#[allow(clippy::needless_pass_by_value)]
fn failed(error: rusqlite::Error) -> StoreError {
    let message = error.to_string();
    StoreError::Other { message }
}

// For `map_err`, which passes errors by value.
#[allow(clippy::needless_pass_by_value)]
fn damaged(error: serde_json::Error) -> StoreError {
    let message = error.to_string();
    StoreError::Damaged { message }
}

fn no_turn(turn: &RunId) -> StoreError {
    StoreError::NoTurn { turn: turn.clone() }
}

/// Returns the turns of a thread, in the order in which they began.
fn of_thread(db: &Transaction<'_>, key: &ThreadKey) -> Result<Vec<Stored>, StoreError> {
    let sql = format!("{TURNS} WHERE {OF_THREAD} ORDER BY number");
    let names = params![key.server, key.room, key.thread.as_str()];
    let mut select = db.prepare_cached(&sql).map_err(failed)?;
    let rows = select.query_map(names, |row| Ok(Stored::read(row)));
    rows.map_err(failed)?
        .map(|row| row.map_err(failed)?)
        .collect()
}

fn find(db: &Transaction<'_>, key: &TurnKey) -> Result<Option<Stored>, StoreError> {
    let TurnKey { thread, turn } = key;
    let sql = format!("{TURNS} WHERE {OF_THREAD} AND turn = ?");
    let names = params![
        thread.server,
        thread.room,
        thread.thread.as_str(),
        turn.as_str()
    ];
    let row = db.query_row(&sql, names, |row| Ok(Stored::read(row)));
    row.optional().map_err(failed)?.transpose()
}

fn existing(db: &Transaction<'_>, key: &TurnKey) -> Result<Stored, StoreError> {
    find(db, key)?.ok_or_else(|| no_turn(&key.turn))
}

impl Stored {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        let text = |column| row.get::<_, String>(column).map_err(failed);
        let thread = ThreadKey::new(text(0)?, text(1)?, text(2)?);
        Ok(Self {
            key: TurnKey::new(thread, text(3)?),
            title: row.get(4).map_err(failed)?,
            turn: serde_json::from_str(&text(5)?).map_err(damaged)?,
            owner: text(6)?,
            generation: Generation(row.get(7).map_err(failed)?),
            checkpoint: row.get(8).map_err(failed)?,
        })
    }

    fn write(&self, db: &Transaction<'_>) -> Result<(), StoreError> {
        let TurnKey { thread, turn } = &self.key;
        let record = serde_json::to_string(&self.turn).map_err(damaged)?;
        let sql = "INSERT INTO turns (server, room, thread, turn, title, record, is_open, owner, generation, checkpoint)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET record = excluded.record,
            is_open = excluded.is_open, owner = excluded.owner, generation = excluded.generation,
            checkpoint = excluded.checkpoint";
        let (server, room, generation) = (&thread.server, &thread.room, self.generation.0);
        let (thread, turn) = (thread.thread.as_str(), turn.as_str());
        let (title, owner, checkpoint) = (&self.title, &self.owner, &self.checkpoint);
        let values = params![
            server,
            room,
            thread,
            turn,
            title,
            record,
            self.is_open(),
            owner,
            generation,
            checkpoint
        ];
        db.execute(sql, values).map_err(failed)?;
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.turn.status == TurnStatus::Streaming
    }

    fn unfinished(&self) -> Option<Unfinished> {
        self.is_open().then(|| Unfinished {
            key: self.key.clone(),
            generation: self.generation,
            owner: self.owner.clone(),
            updated_at: self.turn.updated_at,
        })
    }
}

impl TurnStore for OwnStore {
    fn begin_turn<'a>(&'a self, new: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.transaction(move |db| {
            check::new_turn(new)?;
            let before = of_thread(db, &new.key.thread)?;
            if before.iter().any(|stored| stored.key == new.key) {
                let turn = new.key.turn.clone();
                return Err(StoreError::Exists { turn });
            }
            if let Some(open) = before.iter().find(|stored| stored.is_open()) {
                return Err(StoreError::Busy {
                    turn: open.turn.id.clone(),
                    generation: open.generation,
                    owner: open.owner.clone(),
                });
            }
            if let Some(parent) = &new.parent
                && !before.iter().any(|stored| stored.turn.id == *parent)
            {
                return Err(no_turn(parent));
            }
            let stored = Stored {
                key: new.key.clone(),
                title: new.title.clone(),
                turn: new.turn(),
                owner: new.owner.clone(),
                generation: Generation::FIRST,
                checkpoint: new.checkpoint.clone(),
            };
            stored.write(db)?;
            Ok(stored.generation)
        })
    }

    fn claim<'a>(
        &'a self,
        key: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        self.transaction(move |db| {
            check::owner(owner)?;
            let mut stored = existing(db, key)?;
            if !stored.is_open() {
                let turn = key.turn.clone();
                return Err(StoreError::Closed { turn });
            }
            check::owned(&key.turn, seen, stored.generation)?;
            stored.generation = seen.next();
            stored.owner = owner.to_owned();
            stored.write(db)?;
            let (generation, checkpoint) = (stored.generation, stored.checkpoint);
            Ok(Claimed {
                generation,
                checkpoint,
            })
        })
    }

    fn persist<'a>(
        &'a self,
        key: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        self.transaction(move |db| {
            check::batch(batch)?;
            let mut stored = existing(db, key)?;
            check::owned(&key.turn, generation, stored.generation)?;
            let Some(blocks) = check::new_blocks(&stored.turn, batch)? else {
                return Ok(());
            };
            let blocks = blocks.iter().cloned();
            let blocks = blocks.map(|block| TurnBlock {
                block,
                at: batch.at,
            });
            stored.turn.blocks.extend(blocks);
            stored.turn.status = batch.status;
            stored.turn.outcome = batch.outcome.clone();
            stored.turn.updated_at = stored.turn.updated_at.max(batch.at);
            stored.checkpoint = stored.is_open().then(|| batch.checkpoint.clone());
            stored.write(db)
        })
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        self.transaction(move |db| {
            let sql = format!("{TURNS} WHERE is_open AND (?1 IS NULL OR owner = ?1)");
            let mut select = db.prepare_cached(&sql).map_err(failed)?;
            let rows = select.query_map([owner], |row| Ok(Stored::read(row)));
            let rows = rows.map_err(failed)?.map(|row| row.map_err(failed)?);
            let mut open = rows.collect::<Result<Vec<_>, _>>()?;
            open.sort_by_key(|stored| stored.turn.created_at);
            Ok(open.iter().filter_map(Stored::unfinished).collect())
        })
    }

    fn turn<'a>(&'a self, key: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        self.transaction(move |db| Ok(find(db, key)?.map(|stored| stored.turn)))
    }

    fn path<'a>(&'a self, key: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        self.transaction(move |db| {
            let mut path = Vec::new();
            let mut next = Some(key.turn.clone());
            while let Some(id) = next {
                let turn = existing(db, &TurnKey::new(key.thread.clone(), id))?.turn;
                next = turn.parent.clone();
                path.push(turn);
            }
            path.reverse();
            Ok(path)
        })
    }

    fn thread<'a>(&'a self, key: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        self.transaction(move |db| {
            let turns = of_thread(db, key)?;
            let (Some(first), Some(last)) = (turns.first(), turns.last()) else {
                return Ok(None);
            };
            let used = turns.iter().map(|stored| stored.turn.updated_at).max();
            Ok(Some(ThreadRecord {
                key: key.clone(),
                title: turns.iter().find_map(|stored| stored.title.clone()),
                created_at: first.turn.created_at,
                updated_at: used.unwrap_or(first.turn.created_at),
                latest: Some(last.turn.id.clone()),
                unfinished: turns.iter().find_map(Stored::unfinished),
            }))
        })
    }

    fn delete_thread<'a>(&'a self, key: &'a ThreadKey) -> StoreFuture<'a, bool> {
        self.transaction(move |db| {
            let sql = format!("DELETE FROM turns WHERE {OF_THREAD}");
            let names = params![key.server, key.room, key.thread.as_str()];
            Ok(db.execute(&sql, names).map_err(failed)? > 0)
        })
    }
}
