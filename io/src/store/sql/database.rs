//! What the statements need of a database.

use super::schema::SqlWords;
use crate::store::StoreError;
use crate::store::wake::Changes;
use futures::future::BoxFuture;
use std::fmt::Debug;
use std::future::Future;
use stepwell_core::registry::ThreadKey;

/// A value bound to a statement.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// An integer.
    Integer(i64),
    /// An integer or NULL.
    MaybeInteger(Option<i64>),
    /// A text.
    Text(&'a str),
    /// A text or NULL.
    MaybeText(Option<&'a str>),
    /// An array of texts, for a database that [writes within a query](Session::WRITES_IN_QUERIES).
    Texts(&'a [String]),
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

/// The access of a query's statements to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Each statement sees a moment of its own. No transaction begins: that, and its end, take as long as a read.
    Statement,
    /// All statements see the same moment.
    Snapshot,
}

/// A query: runs its statements on a session of a database.
pub(super) type Query<S, T> =
    Box<dyn for<'s> FnOnce(&'s mut S) -> BoxFuture<'s, Result<T, StoreError>> + Send>;

/// A change, and the caller that waits for it. Public in a private module.
pub trait Job<S: Session>: Send + Sync {
    /// Returns the thread that has changed, if one has.
    fn changed_thread(&self) -> Option<&ThreadKey>;

    /// Returns whether the thread may see no further change.
    fn may_be_last(&self) -> bool;

    /// Applies the change. What refuses the change is kept for its caller.
    ///
    /// # Errors
    /// The database failed: the transaction cannot be committed.
    fn apply<'a>(&'a mut self, session: &'a mut S) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Answers the caller, now that the transaction is committed, or that it failed.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// A kind of database. Public in a private module: no other crate can implement it.
pub trait Database: Debug + Send + Sync + Sized + 'static {
    /// A connection.
    type Session: Session + 'static;

    /// Runs a query.
    fn query<T: Send + 'static>(
        &self,
        access: Access,
        query: Query<Self::Session, T>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// Hands a change to the writer, which answers its caller.
    fn submit(&self, job: Box<dyn Job<Self::Session>>);

    /// Follows a thread.
    fn subscribe(&self, thread: &ThreadKey) -> Changes;
}

/// A connection to a database. Statements number their values: `?1`.
pub trait Session: Send {
    /// A row of an answer.
    type Row: Row;

    /// The words of the database in the schema and in the statements.
    const WORDS: SqlWords;

    /// Whether a query may write, and arrays be bound to it.
    const WRITES_IN_QUERIES: bool = false;

    /// Begins a transaction that writes.
    fn begin(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Commits the transaction.
    fn commit(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Undoes the transaction. A session that cannot is not used again.
    fn rollback(&mut self) -> impl Future<Output = ()> + Send;

    /// Adds a notification to the transaction: other processes are notified of the changes of these threads when it is
    /// committed.
    fn announce(
        &mut self,
        threads: &[&ThreadKey],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Wakes the followers of a thread that has changed, in other processes too unless the change
    /// [was announced](Self::announce) to them.
    fn changed(&self, thread: &ThreadKey, was_announced: bool);

    /// Runs a statement that changes something, and returns the number of rows.
    fn execute(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Returns the rows of an answer.
    fn rows(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Returns the first row of an answer.
    fn row(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Option<Self::Row>, StoreError>> + Send {
        let rows = self.rows(sql, values);
        async move { Ok(rows.await?.into_iter().next()) }
    }
}

/// A row of an answer. Columns are numbered from 0.
pub trait Row: Send + Sync {
    /// Returns an integer, or `None` for NULL.
    fn maybe_integer(&self, column: usize) -> Result<Option<i64>, StoreError>;

    /// Returns a text, or `None` for NULL.
    fn maybe_text(&self, column: usize) -> Result<Option<&str>, StoreError>;

    /// Returns an integer.
    fn integer(&self, column: usize) -> Result<i64, StoreError> {
        self.maybe_integer(column)?.ok_or_else(|| missing(column))
    }

    /// Returns an integer that is never negative.
    fn count(&self, column: usize) -> Result<u64, StoreError> {
        let number = self.integer(column)?;
        u64::try_from(number).map_err(|_| StoreError::Damaged {
            message: format!("column {column} holds {number}"),
        })
    }

    /// Returns a text.
    fn text(&self, column: usize) -> Result<&str, StoreError> {
        self.maybe_text(column)?.ok_or_else(|| missing(column))
    }
}

fn missing(column: usize) -> StoreError {
    StoreError::Damaged {
        message: format!("column {column} is empty"),
    }
}
