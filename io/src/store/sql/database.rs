//! What the statements need of a database.

use super::schema::Words;
use crate::store::StoreError;
use crate::store::presence::Presence;
use crate::store::wake::Wakers;
use std::fmt::Debug;
use std::future::Future;
use stepwell_core::registry::ThreadKey;

/// What a statement is given.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A number.
    Integer(i64),
    /// A number, or none.
    MaybeInteger(Option<i64>),
    /// A text.
    Text(&'a str),
    /// A text, or none.
    MaybeText(Option<&'a str>),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(value: Option<&'a str>) -> Self {
        Self::MaybeText(value)
    }
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Each read may see a moment of its own. No transaction is begun: that, and its end, take as long as a read.
    Look,
    /// All reads see the same moment.
    Read,
    /// Nobody else changes what it has locked.
    Write,
}

/// A kind of database. Public in a private module: nobody else can make one.
pub trait Database: Debug + Send + Sync + Sized + 'static {
    /// A transaction: undone if it is dropped.
    type Transaction: Transaction + 'static;

    /// Its words in the schema.
    const WORDS: Words;
    /// Ends a `SELECT` whose rows (of the table `s`) no other transaction may change before this one is over.
    const LOCKED: &'static str;
    /// Ends the condition of turns (of the table `s`) whose owner is not there. None where only this process knows.
    const ABSENT: Option<&'static str>;

    /// Begins a transaction.
    fn begin(
        &self,
        access: Access,
    ) -> impl Future<Output = Result<Self::Transaction, StoreError>> + Send;

    /// Says that an owner lives.
    fn attend(&self, owner: &str) -> impl Future<Output = Result<Presence, StoreError>> + Send;

    /// Tells other processes that the thread has changed, in the moment in which the transaction lasts.
    fn announce_with(
        &self,
        transaction: &mut Self::Transaction,
        thread: &ThreadKey,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Tells them of a change that lasts. They may not hear of it when this process dies.
    fn announce(&self, thread: &ThreadKey) -> impl Future<Output = ()> + Send;

    /// The subscriptions.
    fn wakers(&self) -> &Wakers;
}

/// A transaction of a database. Its statements number their values: `$1`.
pub trait Transaction: Send {
    /// A row of an answer.
    type Row: Row;

    /// Changes something; gives how many rows.
    fn execute(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// The rows of an answer.
    fn rows(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Makes it last.
    fn commit(self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The first row of an answer.
    fn row(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Option<Self::Row>, StoreError>> + Send {
        let rows = self.rows(sql, values);
        async move { Ok(rows.await?.into_iter().next()) }
    }
}

/// A row of an answer, by the number of its column from 0.
pub trait Row: Send + Sync {
    /// A number, or none.
    fn maybe_integer(&self, column: usize) -> Result<Option<i64>, StoreError>;

    /// A text, or none.
    fn maybe_text(&self, column: usize) -> Result<Option<String>, StoreError>;

    /// A number.
    fn integer(&self, column: usize) -> Result<i64, StoreError> {
        self.maybe_integer(column)?.ok_or_else(|| missing(column))
    }

    /// A number that is never negative.
    fn count(&self, column: usize) -> Result<u64, StoreError> {
        let number = self.integer(column)?;
        u64::try_from(number).map_err(|_| StoreError::Damaged {
            message: format!("column {column} holds {number}"),
        })
    }

    /// A text.
    fn text(&self, column: usize) -> Result<String, StoreError> {
        self.maybe_text(column)?.ok_or_else(|| missing(column))
    }
}

fn missing(column: usize) -> StoreError {
    StoreError::Damaged {
        message: format!("column {column} is empty"),
    }
}

/// The parts that are the same for both drivers, in the types of each. Beside it are `connection`, `commit` and `failed`.
macro_rules! drive {
    ($database:ty, $row:ty, $transaction:ty) => {
        impl Transaction for $transaction {
            type Row = $row;

            async fn execute(
                &mut self,
                sql: &str,
                values: &[Value<'_>],
            ) -> Result<u64, StoreError> {
                let query = bound(sql, values);
                let done = query.execute(connection(self)).await.map_err(failed)?;
                Ok(done.rows_affected())
            }

            async fn rows(
                &mut self,
                sql: &str,
                values: &[Value<'_>],
            ) -> Result<Vec<$row>, StoreError> {
                bound(sql, values)
                    .fetch_all(connection(self))
                    .await
                    .map_err(failed)
            }

            async fn commit(self) -> Result<(), StoreError> {
                commit(self).await.map_err(failed)
            }
        }

        impl Row for $row {
            fn maybe_integer(&self, column: usize) -> Result<Option<i64>, StoreError> {
                sqlx::Row::try_get(self, column).map_err(failed)
            }

            fn maybe_text(&self, column: usize) -> Result<Option<String>, StoreError> {
                sqlx::Row::try_get(self, column).map_err(failed)
            }
        }

        fn bound<'q>(
            sql: &'q str,
            values: &'q [Value<'q>],
        ) -> sqlx::query::Query<'q, $database, <$database as sqlx::Database>::Arguments<'q>> {
            let mut query = sqlx::query(sql);
            for value in values {
                query = match *value {
                    Value::Integer(value) => query.bind(value),
                    Value::MaybeInteger(value) => query.bind(value),
                    Value::Text(value) => query.bind(value),
                    Value::MaybeText(value) => query.bind(value),
                };
            }
            query
        }
    };
}
pub(super) use drive;

/// A driver's error in the store's words; `told` is what the database itself said.
pub(super) fn failed_by(
    error: sqlx::Error,
    told: impl FnOnce(&dyn sqlx::error::DatabaseError, String) -> StoreError,
) -> StoreError {
    let message = error.to_string();
    match error {
        sqlx::Error::Database(database) => told(&*database, message),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_) => StoreError::Unavailable { message },
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            StoreError::Damaged { message }
        }
        _ => StoreError::Other { message },
    }
}

/// Why a database could not be brought up to date.
pub(super) fn not_migrated(
    error: sqlx::migrate::MigrateError,
    failed: impl FnOnce(sqlx::Error) -> StoreError,
) -> StoreError {
    use sqlx::migrate::MigrateError;
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => failed(error),
        MigrateError::VersionMissing(version) => StoreError::TooNew {
            message: format!("its schema is of version {version}"),
        },
        MigrateError::VersionMismatch(_) | MigrateError::Dirty(_) => StoreError::Damaged {
            message: error.to_string(),
        },
        error => StoreError::Other {
            message: error.to_string(),
        },
    }
}
