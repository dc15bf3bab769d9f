//! A connection to a server.

use super::announcing::{Announcing, CHANNEL, NOTIFY};
use super::error::failed;
use crate::store::StoreError;
use crate::store::sql::database::{Row, Session, Value};
use crate::store::sql::schema::SqlWords;
use crate::store::wake::Wakers;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgPool, PgRow, Postgres as Driver};
use sqlx::query::Query;
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// A connection of the pool, taken when it is needed and returned after a transaction.
#[derive(Debug)]
pub struct PostgresSession {
    pool: PgPool,
    answer_timeout: Duration,
    wakers: Wakers,
    announcing: Announcing,
    connection: Option<PoolConnection<Driver>>,
    is_in_transaction: bool,
}

impl PostgresSession {
    pub(super) fn new(
        pool: PgPool,
        answer_timeout: Duration,
        wakers: Wakers,
        announcing: Announcing,
    ) -> Self {
        Self {
            pool,
            answer_timeout,
            wakers,
            announcing,
            connection: None,
            is_in_transaction: false,
        }
    }

    async fn connection(&mut self) -> Result<&mut PoolConnection<Driver>, StoreError> {
        match &mut self.connection {
            Some(connection) => Ok(connection),
            connection => {
                let acquired = self.pool.acquire().await.map_err(failed)?;
                Ok(connection.insert(acquired))
            }
        }
    }

    /// Begins a transaction by a statement.
    pub(super) async fn begin_with(&mut self, sql: &'static str) -> Result<(), StoreError> {
        self.is_in_transaction = true;
        let begun = self.run(sql).await;
        if begun.is_err() {
            self.rollback().await;
        }
        begun
    }

    /// Gives the connection back. One with a transaction that was not ended is closed.
    fn release(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && self.is_in_transaction
        {
            connection.close_on_drop();
        }
        self.is_in_transaction = false;
    }

    /// Runs a statement without values.
    async fn run(&mut self, sql: &'static str) -> Result<(), StoreError> {
        let limit = self.answer_timeout;
        let connection = self.connection().await?;
        let run = sqlx::query(sql).execute(&mut **connection);
        let run = timeout(limit, run).await;
        self.answered(run).map(drop)
    }

    /// Takes the answer to a statement. The connection of one that has none is closed: its transaction is not committed, or
    /// is not known to be.
    fn answered<T>(
        &mut self,
        answer: Result<Result<T, sqlx::Error>, Elapsed>,
    ) -> Result<T, StoreError> {
        let Ok(answer) = answer else {
            if let Some(mut connection) = self.connection.take() {
                connection.close_on_drop();
            }
            let seconds = self.answer_timeout.as_secs_f64();
            let message = format!("no answer in {seconds} s");
            return Err(StoreError::Unavailable { message });
        };
        answer.map_err(failed)
    }
}

impl Session for PostgresSession {
    type Row = PgRow;

    const WORDS: SqlWords = SqlWords {
        serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        key: "BIGINT PRIMARY KEY",
        name: "TEXT COLLATE \"C\"",
        clustered: "",
        locked: " FOR UPDATE OF s",
        now: "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
    };

    const WRITES_IN_QUERIES: bool = true;

    async fn begin(&mut self) -> Result<(), StoreError> {
        self.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED")
            .await
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        self.run("COMMIT").await?;
        self.is_in_transaction = false;
        self.connection = None;
        Ok(())
    }

    async fn rollback(&mut self) {
        if self.connection.is_some() && self.run("ROLLBACK").await.is_ok() {
            self.is_in_transaction = false;
        }
        self.release();
    }

    async fn announce(&mut self, threads: &[&ThreadKey]) -> Result<(), StoreError> {
        if threads.is_empty() {
            return Ok(());
        }
        let payloads = threads.iter().map(|thread| self.announcing.payload(thread));
        let payloads: Vec<_> = payloads.collect();
        let limit = self.answer_timeout;
        let connection = self.connection().await?;
        let notify = sqlx::query(NOTIFY).bind(CHANNEL).bind(payloads);
        let notified = timeout(limit, notify.execute(&mut **connection)).await;
        self.answered(notified).map(drop)
    }

    fn changed(&self, thread: &ThreadKey, was_announced: bool) {
        self.wakers.wake(thread);
        if !was_announced {
            self.announcing.announce(thread);
        }
    }

    async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let limit = self.answer_timeout;
        let connection = self.connection().await?;
        let sql = numbered(sql);
        let done = bound(&sql, values).execute(&mut **connection);
        let done = timeout(limit, done).await;
        Ok(self.answered(done)?.rows_affected())
    }

    async fn rows(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<PgRow>, StoreError> {
        let limit = self.answer_timeout;
        let connection = self.connection().await?;
        let sql = numbered(sql);
        let rows = bound(&sql, values).fetch_all(&mut **connection);
        let rows = timeout(limit, rows).await;
        self.answered(rows)
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        self.release();
    }
}

/// Returns a statement whose values are numbered as PostgreSQL has them: `$1`.
fn numbered(sql: &str) -> String {
    sql.replace('?', "$")
}

fn bound<'q>(sql: &'q str, values: &'q [Value<'q>]) -> Query<'q, Driver, PgArguments> {
    let mut query = sqlx::query(sql);
    for value in values {
        query = match *value {
            Value::Integer(value) => query.bind(value),
            Value::MaybeInteger(value) => query.bind(value),
            Value::Text(value) => query.bind(value),
            Value::MaybeText(value) => query.bind(value),
            Value::Texts(values) => query.bind(values),
        };
    }
    query
}

impl Row for PgRow {
    fn maybe_integer(&self, column: usize) -> Result<Option<i64>, StoreError> {
        sqlx::Row::try_get(self, column).map_err(failed)
    }

    fn maybe_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        sqlx::Row::try_get(self, column).map_err(failed)
    }
}
