//! A connection to a file.

use super::file::OpenFile;
use crate::store::StoreError;
use crate::store::sql::database::{Row, Session, Value};
use crate::store::sql::schema::SqlWords;
use crate::store::wake::Wakers;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, params_from_iter};
use std::sync::Arc;
use stepwell_core::registry::ThreadKey;

/// Prepared statements that a connection keeps.
const MAX_CACHED_STATEMENTS: usize = 256;

/// The number of free pages that are kept for later writes.
const MIN_FREE_PAGES: i64 = 256;

/// The number of pages that are returned in one transaction.
const MAX_FREED_PAGES: i64 = 1024;

/// SQLite's number for the kind of file whose space can be returned in steps.
const INCREMENTAL: i64 = 2;

/// A connection. Its statements run where they are called: off the async workers.
#[derive(Debug)]
pub struct SqliteSession {
    connection: Connection,
    wakers: Wakers,
    /// The file as it was opened, for a connection that writes.
    file: Option<Arc<OpenFile>>,
}

impl SqliteSession {
    /// Makes a session of a connection; `file` is what a connection that writes has opened.
    pub(super) fn new(connection: Connection, wakers: Wakers, file: Option<Arc<OpenFile>>) -> Self {
        connection.set_prepared_statement_cache_capacity(MAX_CACHED_STATEMENTS);
        Self {
            connection,
            wakers,
            file,
        }
    }

    /// Checks that the file is still the one that was opened.
    pub(super) fn check_file(&self) -> Result<(), StoreError> {
        self.file.as_ref().map_or(Ok(()), |file| file.check())
    }

    /// Returns a number that changes when another connection has changed the file. `None` if the file cannot be read.
    pub(super) fn data_version(&self) -> Option<i64> {
        let version = self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0));
        version.ok()
    }

    /// Returns some of the unused space of the file. Returns whether there is more to return.
    pub(super) fn give_back(&self) -> bool {
        let count = |name: &str| {
            let count = self
                .connection
                .pragma_query_value(None, name, |row| row.get(0));
            count.unwrap_or(0_i64)
        };
        let is_much = || {
            let free = count("freelist_count");
            free >= MIN_FREE_PAGES && free >= count("page_count") / 4
        };
        if self.file.is_none() || count("auto_vacuum") != INCREMENTAL || !is_much() {
            return false;
        }
        let give = format!("PRAGMA incremental_vacuum({MAX_FREED_PAGES})");
        if let Err(error) = self.connection.execute_batch(&give) {
            // Another process may be writing.
            tracing::debug!(target: "stepwell", %error, "space is not given back yet");
            return false;
        }
        is_much()
    }

    /// Brings the write-ahead log into the file, and closes the connection.
    pub(super) fn close(self) {
        // The file is complete with its `-wal` also where this fails.
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        if self.file.is_some()
            && let Err(error) = self.connection.execute_batch(checkpoint)
        {
            tracing::debug!(target: "stepwell", %error, "the write-ahead log stays");
        }
    }

    /// Runs a statement without values that returns no rows.
    pub(super) fn run(&self, sql: &str) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        statement.execute([]).map(drop).map_err(failed)
    }
}

impl Session for SqliteSession {
    type Row = SqliteRow;

    const WORDS: SqlWords = SqlWords {
        serial: "INTEGER PRIMARY KEY",
        key: "INTEGER PRIMARY KEY",
        name: "TEXT",
        clustered: "WITHOUT ROWID",
        // The complete file is locked, from the beginning of a transaction that writes.
        locked: "",
        now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    };

    async fn begin(&mut self) -> Result<(), StoreError> {
        self.check_file()?;
        // A transaction that reads first and writes later may find the file changed in between.
        self.run("BEGIN IMMEDIATE")?;
        if let Some(file) = &self.file
            && let Err(error) = file.check_wal()
        {
            self.rollback().await;
            return Err(error);
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        self.run("COMMIT")
    }

    async fn rollback(&mut self) {
        // SQLite itself rolls back where a disk is full or fails.
        if !self.connection.is_autocommit()
            && let Err(error) = self.run("ROLLBACK")
        {
            tracing::warn!(target: "stepwell", %error, "a transaction is not undone");
        }
    }

    /// Other processes see that the file has changed.
    async fn announce(&mut self, _: &[&ThreadKey]) -> Result<(), StoreError> {
        Ok(())
    }

    fn changed(&self, thread: &ThreadKey, _: bool) {
        self.wakers.wake(thread);
    }

    async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let rows = statement
            .execute(params_from_iter(values))
            .map_err(failed)?;
        Ok(rows as u64)
    }

    async fn rows(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let columns = statement.column_count();
        let mut found = Vec::new();
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let columns = (0..columns).map(|column| Column::of(row.get_ref(column)?));
            found.push(SqliteRow(
                columns.collect::<Result<_, _>>().map_err(failed)?,
            ));
        }
        Ok(found)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = |text| ValueRef::Text(str::as_bytes(text));
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Integer(number) => ValueRef::Integer(number),
            Self::MaybeInteger(number) => number.map_or(ValueRef::Null, ValueRef::Integer),
            Self::Text(value) => text(value),
            Self::MaybeText(value) => value.map_or(ValueRef::Null, text),
            Self::Texts(_) => {
                let error = "SQLite has no arrays".into();
                return Err(rusqlite::Error::ToSqlConversionFailure(error));
            }
        }))
    }
}

/// A row of an answer.
#[derive(Debug)]
pub struct SqliteRow(Vec<Column>);

#[derive(Debug)]
enum Column {
    Null,
    Integer(i64),
    Text(String),
    /// Nothing that this store writes.
    Other(&'static str),
}

impl Column {
    fn of(value: ValueRef<'_>) -> rusqlite::Result<Self> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Text(text) => match str::from_utf8(text) {
                Ok(text) => Self::Text(text.to_owned()),
                Err(_) => Self::Other("a text that is not UTF-8"),
            },
            ValueRef::Real(_) => Self::Other("a real number"),
            ValueRef::Blob(_) => Self::Other("bytes"),
        })
    }
}

impl SqliteRow {
    fn column(&self, column: usize) -> &Column {
        self.0.get(column).unwrap_or(&Column::Null)
    }
}

fn damaged(column: usize, holds: &str) -> StoreError {
    StoreError::Damaged {
        message: format!("column {column} holds {holds}"),
    }
}

impl Row for SqliteRow {
    fn maybe_integer(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.column(column) {
            Column::Null => Ok(None),
            Column::Integer(number) => Ok(Some(*number)),
            Column::Text(_) => Err(damaged(column, "a text")),
            Column::Other(other) => Err(damaged(column, other)),
        }
    }

    fn maybe_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.column(column) {
            Column::Null => Ok(None),
            Column::Text(text) => Ok(Some(text)),
            Column::Integer(_) => Err(damaged(column, "an integer")),
            Column::Other(other) => Err(damaged(column, other)),
        }
    }
}

/// Result codes: <https://www.sqlite.org/rescode.html>.
// By value for `map_err`.
#[allow(clippy::needless_pass_by_value)]
pub(super) fn failed(error: rusqlite::Error) -> StoreError {
    let message = error.to_string();
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::FileLockingProtocolFailed,
        ) => StoreError::Unavailable { message },
        Some(ErrorCode::OutOfMemory | ErrorCode::DiskFull | ErrorCode::TooBig) => {
            StoreError::Full { message }
        }
        Some(
            ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::AuthorizationForStatementDenied,
        ) => StoreError::ReadOnly { message },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { message }
        }
        _ => StoreError::Other { message },
    }
}
