use super::SqlStore;
use super::announcing::{Announcing, Heard};
use super::attending::{ABSENT, Attending};
use super::database::{Access, Database, Row, Transaction, Value, drive, failed_by, not_migrated};
use super::schema::{Migrations, Words};
use crate::store::StoreError;
use crate::store::presence::Presence;
use crate::store::wake::Wakers;
use futures::FutureExt;
use sqlx::Connection;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{
    PgConnectOptions, PgConnection, PgListener, PgPool, PgPoolOptions, PgRow, Postgres as Driver,
};
use std::str::FromStr;
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A store that several hosts share, on a PostgreSQL server. Whoever follows a thread is woken by the changes of all of
/// them, by LISTEN and NOTIFY.
///
/// Who [attends](crate::store::Store::attend) holds an advisory lock on a connection of its own, so that the server itself
/// says who lives. A process that dies is gone at once; one that is frozen, or out of reach, after five seconds in which
/// the server hears nothing of it (from PostgreSQL 14 on). Between the process and the server there is to be no pool that
/// gives a session's connection to others, such as PgBouncer's transaction mode.
pub type PostgresStore = SqlStore<Postgres>;

/// How a server is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The most connections of this process, at least 2: one listens. There is one more that tells other processes of
    /// changes, and one more while somebody [attends](crate::store::Store::attend).
    pub max_connections: u32,
    /// The schema that the tables are in, which is made if it is not there; that of the user's search path if none is
    /// named.
    pub schema: Option<String>,
    /// How long to wait for a connection, before the store counts as [away](StoreError::Unavailable).
    pub connect_timeout: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            max_connections: 10,
            schema: None,
            connect_timeout: Duration::from_secs(5),
        }
    }
}

/// A PostgreSQL server.
#[derive(Debug)]
pub struct Postgres {
    pool: PgPool,
    wakers: Wakers,
    attending: Attending,
    announcing: Announcing,
    over: CancellationToken,
    _over: DropGuard,
}

/// How long a connection that was used is taken to be there still. To ask the server takes as long as a statement.
const LIKELY: Duration = Duration::from_millis(200);

/// Where processes tell each other of changes.
pub(super) const CHANNEL: &str = "stepwell";

impl PostgresStore {
    /// Connects to a server, and brings the schema up to date.
    ///
    /// The address is a URL, `postgres://user:password@server/database?sslmode=verify-full`, as libpq takes it; what it
    /// leaves out is taken from libpq's environment variables.
    ///
    /// # Errors
    /// It cannot be reached, does not let the user in, or is of a later version.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, PostgresOptions::default()).await
    }

    /// As [`connect`](Self::connect), with other options than the default ones.
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
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections.max(2))
            .acquire_timeout(options.connect_timeout)
            .test_before_acquire(false)
            .before_acquire(|connection, known| {
                let lives =
                    async move { Ok(known.idle_for < LIKELY || connection.ping().await.is_ok()) };
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
        let migrated = migrate(&pool).await;
        migrated.map_err(|error| not_migrated(error, failed))?;
        let wakers = Wakers::default();
        let mut listener = PgListener::connect_with(&pool).await.map_err(failed)?;
        listener.listen(CHANNEL).await.map_err(failed)?;
        let over = CancellationToken::new();
        let announcing = Announcing::on(connect.clone(), over.clone());
        let listening = (announcing.clone(), wakers.clone());
        tokio::spawn(listen(listener, listening, over.clone()));
        Ok(Self::of(Postgres {
            pool,
            wakers,
            attending: Attending::on(connect, options.connect_timeout, over.clone()),
            announcing,
            _over: over.clone().drop_guard(),
            over,
        }))
    }

    /// Waits for what is under way, and closes the connections; nobody attends any more. Dropping the store does so too,
    /// later.
    pub async fn close(&self) {
        self.database.over.cancel();
        self.database.pool.close().await;
        self.database.announcing.close().await;
    }
}

/// Wakes whoever follows a thread that some host changed, until the store is gone.
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
            Ok(Some(notification)) => match announcing.heard(notification.payload()) {
                Heard::Own => {}
                Heard::Thread(thread) => wakers.wake(&thread),
                Heard::Any => wakers.wake_all(),
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

/// What the driver reads of an address behind the `?`.
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

async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    let migrator = Migrator::new(Migrations(Postgres::WORDS)).await?;
    migrator.run(pool).await
}

impl Database for Postgres {
    type Transaction = PostgresTransaction;

    const WORDS: Words = Words {
        serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        key: "BIGINT PRIMARY KEY",
        name: "TEXT COLLATE \"C\"",
        clustered: "",
    };
    const LOCKED: &'static str = " FOR UPDATE OF s";
    const ABSENT: Option<&'static str> = Some(ABSENT);

    async fn begin(&self, access: Access) -> Result<Self::Transaction, StoreError> {
        let begin = match access {
            Access::Look => {
                let connection = self.pool.acquire().await.map_err(failed)?;
                return Ok(PostgresTransaction::Alone(connection));
            }
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::Write => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        let pool = self.pool.clone();
        // To its end, also if nobody waits for it any more: a connection that is let go of while the server answers goes
        // back to the pool with a transaction that nobody knows of, and the next write fails on it.
        let begun = tokio::spawn(async move { pool.begin_with(begin).await });
        let begun = begun.await.map_err(|error| StoreError::Other {
            message: error.to_string(),
        })?;
        begun.map(PostgresTransaction::Begun).map_err(failed)
    }

    async fn attend(&self, owner: &str) -> Result<Presence, StoreError> {
        self.attending.attend(owner).await
    }

    async fn announce_with(
        &self,
        transaction: &mut Self::Transaction,
        thread: &ThreadKey,
    ) -> Result<(), StoreError> {
        let payload = self.announcing.payload(thread);
        let values = [CHANNEL.into(), payload.as_str().into()];
        let notify = "SELECT CAST(pg_notify($1, $2) AS TEXT)";
        transaction.rows(notify, &values).await.map(drop)
    }

    async fn announce(&self, thread: &ThreadKey) {
        self.announcing.tell(thread).await;
    }

    fn wakers(&self) -> &Wakers {
        &self.wakers
    }
}

/// A transaction, or statements of which each is one by itself.
#[derive(Debug)]
pub enum PostgresTransaction {
    /// It is undone if it is dropped.
    Begun(sqlx::Transaction<'static, Driver>),
    /// Nothing is left to be done.
    Alone(PoolConnection<Driver>),
}

drive!(Driver, PgRow, PostgresTransaction);

fn connection(transaction: &mut PostgresTransaction) -> &mut PgConnection {
    match transaction {
        PostgresTransaction::Begun(transaction) => transaction,
        PostgresTransaction::Alone(connection) => connection,
    }
}

async fn commit(transaction: PostgresTransaction) -> Result<(), sqlx::Error> {
    match transaction {
        PostgresTransaction::Begun(transaction) => transaction.commit().await,
        PostgresTransaction::Alone(_) => Ok(()),
    }
}

/// Error codes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
pub(super) fn failed(error: sqlx::Error) -> StoreError {
    failed_by(error, |database, message| {
        let code = database.code().unwrap_or_default();
        let class = code.get(..2).unwrap_or_default();
        match (class, &*code) {
            // No connection, a server that goes down or is not up yet, a disk that fails, no connection left; a
            // deadlock, a lock that was waited for too long, a transaction that came between.
            ("08" | "40" | "57" | "58", _) | (_, "53300" | "55P03") => {
                StoreError::Unavailable { message }
            }
            ("53", _) => StoreError::Full { message },
            (_, "25006" | "42501") => StoreError::ReadOnly { message },
            // What was given cannot be stored; the user or the database is not known.
            ("22" | "28" | "3D", _) => StoreError::Refused { message },
            (_, "XX001" | "XX002") => StoreError::Damaged { message },
            _ => StoreError::Other { message },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_parameter_is_refused() {
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
