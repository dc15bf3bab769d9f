//! Turns on a server that several hosts share.

mod announcing;
mod error;
mod migrate;
mod session;

use session::PostgresSession;

use super::SqlStore;
use super::change::{MAX_GROUP, commit_together};
use super::database::{Access, Database, Job, Query, Session};
use crate::base::lock;
use crate::store::StoreError;
use crate::store::wake::{Changes, Wakers};
use announcing::{Announcing, CHANNEL, Notification};
use error::failed;
use futures::FutureExt;
use migrate::migrate;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use sqlx::{Connection, Executor};
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A store that several hosts share, on a PostgreSQL server. Followers of a thread are woken by the changes of all hosts, by
/// LISTEN and NOTIFY.
///
/// Between the process and the server there should be no pool that gives a session's connection to others, such as
/// PgBouncer in its transaction mode.
pub type PostgresStore = SqlStore<Postgres>;

/// The options for a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The maximum number of connections of this process, at least 3: one listens, and one writes. One more notifies other
    /// processes of changes.
    pub max_connections: u32,
    /// The schema that the tables are in, which is made if it is not there; that of the user's search path if none is
    /// named.
    pub schema: Option<String>,
    /// How long to wait for a connection, before the store counts as [away](StoreError::Unavailable).
    pub connect_timeout: Duration,
    /// How long to wait for the answer to a statement, before its connection is given up and the store counts as away: a
    /// network may lose a connection without a word.
    pub answer_timeout: Duration,
    /// How long a session of this process may be idle in a transaction before the server ends it; zero is no limit. A
    /// process that is frozen or cut off in a transaction holds locks that all others wait for.
    pub idle_transaction_timeout: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            max_connections: 10,
            schema: None,
            connect_timeout: Duration::from_secs(5),
            answer_timeout: Duration::from_secs(20),
            idle_transaction_timeout: Duration::from_secs(3),
        }
    }
}

/// A PostgreSQL server.
#[derive(Debug)]
pub struct Postgres {
    pool: PgPool,
    answer_timeout: Duration,
    wakers: Wakers,
    announcing: Announcing,
    changes: mpsc::UnboundedSender<Box<dyn Job<PostgresSession>>>,
    /// The tasks that end when the store is closed.
    tasks: Mutex<Vec<JoinHandle<()>>>,
    over: CancellationToken,
    _over: DropGuard,
}

/// How long a used connection counts as alive without a check. To ask the server takes as long as a statement.
const MAX_UNCHECKED_IDLE_TIME: Duration = Duration::from_millis(200);

impl PostgresStore {
    /// Connects to a server, and brings the schema up to date.
    ///
    /// The address is a URL, `postgres://user:password@server/database?sslmode=verify-full`, as libpq takes it; what it
    /// leaves out is taken from libpq's environment variables.
    ///
    /// # Errors
    /// The server cannot be reached or does not let the user in, or the schema is of a later version.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, PostgresOptions::default()).await
    }

    /// Connects to a server, as [`connect`](Self::connect) does, with other options than the default ones.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn connect_with(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        check_parameters(url)?;
        let mut connect = PgConnectOptions::from_str(url).map_err(|error| {
            // Its words may hold the password.
            let kind = match error {
                sqlx::Error::Configuration(_) => "it cannot be read as a URL",
                _ => "it is refused",
            };
            StoreError::Refused {
                message: format!("the address of the PostgreSQL server: {kind}"),
            }
        })?;
        if let Some(schema) = &options.schema {
            connect = connect.options([("search_path", quoted(schema))]);
        }
        let limit = options.idle_transaction_timeout.as_millis();
        let limit = format!("SET idle_in_transaction_session_timeout = '{limit}ms'");
        let limit: Arc<str> = limit.into();
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections.max(3))
            .acquire_timeout(options.connect_timeout)
            .test_before_acquire(false)
            .after_connect(move |connection, _| {
                let limit = Arc::clone(&limit);
                async move { connection.execute(&*limit).await.map(drop) }.boxed()
            })
            .before_acquire(|connection, known| {
                let lives = async move {
                    Ok(known.idle_for < MAX_UNCHECKED_IDLE_TIME || connection.ping().await.is_ok())
                };
                lives.boxed()
            })
            .connect_with(connect.clone())
            .await
            .map_err(failed)?;
        if let Some(schema) = &options.schema {
            let sql = format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(schema));
            let created = sqlx::query(&sql).execute(&pool).await;
            created.map_err(failed)?;
        }
        migrate(&pool).await?;
        let wakers = Wakers::default();
        let mut listener = PgListener::connect_with(&pool).await.map_err(failed)?;
        listener.listen(CHANNEL).await.map_err(failed)?;
        let over = CancellationToken::new();
        let announcing = Announcing::new();
        let listening = (announcing.clone(), wakers.clone());
        tokio::spawn(listen(listener, listening, over.clone()));
        let sending = tokio::spawn(announcing.clone().send(connect, over.clone()));
        let (changes, receiver) = mpsc::unbounded_channel();
        let answer_timeout = options.answer_timeout;
        let session = PostgresSession::new(
            pool.clone(),
            answer_timeout,
            wakers.clone(),
            announcing.clone(),
        );
        let closing = over.clone();
        let writing = tokio::spawn(write(session, receiver, closing));
        Ok(Self::of(Postgres {
            pool,
            answer_timeout,
            wakers,
            announcing,
            changes,
            tasks: Mutex::new(vec![writing, sending]),
            _over: over.clone().drop_guard(),
            over,
        }))
    }

    /// Waits for what is under way, and closes the connections. Dropping the store closes them too, later.
    pub async fn close(&self) {
        self.database.over.cancel();
        let tasks = std::mem::take(&mut *lock(&self.database.tasks));
        for task in tasks {
            let _ = task.await;
        }
        self.database.pool.close().await;
    }
}

impl Postgres {
    fn session(&self) -> PostgresSession {
        let (wakers, announcing) = (self.wakers.clone(), self.announcing.clone());
        PostgresSession::new(self.pool.clone(), self.answer_timeout, wakers, announcing)
    }
}

/// Wakes the followers of threads that any host has changed, until the store is dropped.
async fn listen(
    mut listener: PgListener,
    (announcing, wakers): (Announcing, Wakers),
    over: CancellationToken,
) {
    loop {
        let heard = tokio::select! {
            () = over.cancelled() => return,
            heard = listener.try_recv() => heard,
        };
        match heard {
            Ok(Some(notification)) => match announcing.read_notification(notification.payload()) {
                Notification::Own => {}
                Notification::Thread(thread) => wakers.wake(&thread),
                Notification::Any => wakers.wake_all(),
            },
            // The connection was lost, and something may have been missed; the next call makes another.
            Ok(None) => wakers.wake_all(),
            Err(sqlx::Error::PoolClosed) => return,
            Err(error) => {
                tracing::warn!(target: "stepwell", %error, "the store cannot be listened to; trying again");
                tokio::select! {
                    () = over.cancelled() => return,
                    () = tokio::time::sleep(Duration::from_secs(1)) => {}
                }
                wakers.wake_all();
            }
        }
    }
}

/// The parameters that the driver reads in an address, after the `?`.
const PARAMETERS: &[&str] = &[
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// Refuses what the driver would pass over: a mistyped `sslmode` would be no encryption.
fn check_parameters(url: &str) -> Result<(), StoreError> {
    let Some((_, query)) = url.split_once('?') else {
        return Ok(());
    };
    let names = query.split('&').filter(|pair| !pair.is_empty());
    let names = names.map(|pair| pair.split('=').next().unwrap_or_default());
    for name in names {
        let is_option = name.starts_with("options[") && name.ends_with(']');
        if !is_option && !PARAMETERS.contains(&name) {
            let known = PARAMETERS.join(", ");
            return Err(StoreError::Refused {
                message: format!(
                    "the address of the PostgreSQL server has no parameter `{name}`: there are {known}"
                ),
            });
        }
    }
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Database for Postgres {
    type Session = PostgresSession;

    async fn query<T: Send + 'static>(
        &self,
        access: Access,
        query: Query<PostgresSession, T>,
    ) -> Result<T, StoreError> {
        let mut session = self.session();
        if access == Access::Statement {
            return query(&mut session).await;
        }
        // To its end, also if the caller stops waiting: the connection goes back to the pool.
        let read = tokio::spawn(async move {
            session
                .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                .await?;
            let result = query(&mut session).await;
            match &result {
                Ok(_) => session.commit().await?,
                Err(_) => session.rollback().await,
            }
            result
        });
        read.await.unwrap_or_else(|error| {
            let message = error.to_string();
            Err(StoreError::Other { message })
        })
    }

    fn submit(&self, job: Box<dyn Job<PostgresSession>>) {
        // Once the store is closed the job is dropped, which answers its caller.
        let _ = self.changes.send(job);
    }

    fn subscribe(&self, thread: &ThreadKey) -> Changes {
        self.wakers.subscribe(thread)
    }
}

/// Commits the changes that wait, together.
async fn write(
    mut session: PostgresSession,
    mut changes: mpsc::UnboundedReceiver<Box<dyn Job<PostgresSession>>>,
    over: CancellationToken,
) {
    let mut jobs = Vec::new();
    loop {
        let count = tokio::select! {
            biased;
            count = changes.recv_many(&mut jobs, MAX_GROUP) => count,
            () = over.cancelled() => break,
        };
        if count == 0 {
            break;
        }
        commit_together(&mut session, std::mem::take(&mut jobs)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_unknown_parameters() {
        for url in [
            "postgres://u:p@h/d",
            "postgres://u:p@h/d?",
            "postgres://h/d?sslmode=verify-full&options[search_path]=a",
            "postgresql:///d?host=/run/postgresql&application_name=a%26b",
        ] {
            assert_eq!(check_parameters(url), Ok(()), "{url}");
        }
        let refused = check_parameters("postgres://u:p@h/d?ssl_mode=require").unwrap_err();
        let message = refused.to_string();
        assert!(message.contains("no parameter `ssl_mode`"), "{message}");
        assert!(!message.contains("u:p"), "{message}");
    }
}
