//! Turns in a file.

mod file;
mod readers;
mod session;
mod writer;

use session::SqliteSession;

use super::SqlStore;
use super::database::{Access, Database, Job, Query, Session};
use super::schema::MIGRATIONS;
use crate::store::StoreError;
use crate::store::wake::{Changes, Wakers};
use file::OpenFile;
use readers::Readers;
use rusqlite::{Connection, OpenFlags};
use session::failed;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use writer::Writer;

/// A store in a file. Several processes may use the file at once, on one machine: followers of a thread are woken by the
/// changes of all of them, by those of other processes within a fifth of a second.
///
/// Space that deleted turns have left is given back to the file system where it comes to a quarter of the file.
///
/// The file is in WAL mode: SQLite keeps `-wal` and `-shm` alongside it. On Unix all three are created for their owner alone.
pub type SqliteStore = SqlStore<Sqlite>;

/// The options for a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The point at which a write counts as stored.
    pub sync: SqliteSync,
    /// How long to wait while another process writes.
    pub busy_timeout: Duration,
    /// The maximum size of the file, in bytes. Beyond that the store is [full](StoreError::Full).
    pub max_bytes: Option<u64>,
    /// Opens an existing file for reading alone: nothing is changed.
    pub read_only: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            sync: SqliteSync::default(),
            busy_timeout: Duration::from_secs(5),
            max_bytes: None,
            read_only: false,
        }
    }
}

/// The point at which a write counts as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SqliteSync {
    /// On the disk: the write survives a power cut.
    #[default]
    Full,
    /// In the operating system: the write survives a kill of the process. A power cut may take the last writes back,
    /// and a tool whose call they recorded may run again.
    Normal,
}

/// SQLite, in a file.
#[derive(Debug)]
pub struct Sqlite {
    writer: Writer,
    readers: Readers,
    wakers: Wakers,
}

const PAGE_BYTES: u64 = 4096;
/// The size of `-wal` once its contents are in the file. SQLite truncates it when it starts again from its beginning.
const MAX_IDLE_WAL_BYTES: u64 = 4 << 20;
/// The number of pages in `-wal` at which they are moved into the file, as is SQLite's default.
const CHECKPOINT_PAGES: u64 = 1000;

impl SqliteStore {
    /// Opens a file, or creates it, and brings its schema up to date.
    ///
    /// # Errors
    /// The file cannot be opened or written, is no SQLite database, or is of a later version.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::default()).await
    }

    /// Opens a file, as [`open`](Self::open) does, with other options than the default ones.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub async fn open_with(
        path: impl AsRef<Path>,
        options: SqliteOptions,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let opened = tokio::task::spawn_blocking(move || open(&path, &options));
        let database = opened.await.unwrap_or_else(|error| {
            let message = error.to_string();
            Err(StoreError::Other { message })
        });
        Ok(Self::of(database?))
    }

    /// Waits for the changes under way, brings all of `-wal` into the file, and closes it. Dropping the store closes the
    /// file too, later.
    pub async fn close(&self) {
        self.database.readers.close().await;
        self.database.writer.close().await;
    }
}

fn open(path: &Path, options: &SqliteOptions) -> Result<Sqlite, StoreError> {
    file::check_path(path)?;
    let wakers = Wakers::default();
    let opening = Opening {
        path: path.to_owned(),
        options: options.clone(),
        wakers: wakers.clone(),
    };
    if !options.read_only {
        file::make_private(path)?;
    }
    let connection = opening.connection(options.read_only)?;
    let mut file = None;
    if !options.read_only {
        migrate(&connection)?;
        file = Some(Arc::new(OpenFile::of(path)?));
    }
    let session = SqliteSession::new(connection, wakers.clone(), file.clone());
    let writer = Writer::start(session, wakers.clone())?;
    let readers = Readers::new(move || {
        let connection = opening.connection(true)?;
        let wakers = opening.wakers.clone();
        Ok(SqliteSession::new(connection, wakers, file.clone()))
    });
    Ok(Sqlite {
        writer,
        readers,
        wakers,
    })
}

/// The settings with which a connection is opened.
struct Opening {
    path: PathBuf,
    options: SqliteOptions,
    wakers: Wakers,
}

impl Opening {
    fn connection(&self, reads_only: bool) -> Result<Connection, StoreError> {
        let options = &self.options;
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= match reads_only {
            true => OpenFlags::SQLITE_OPEN_READ_ONLY,
            false => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
        let connection = Connection::open_with_flags(&self.path, flags).map_err(failed)?;
        connection
            .busy_timeout(options.busy_timeout)
            .map_err(failed)?;
        let set = |name: &str, value: &str| {
            let set = connection.pragma_update(None, name, value);
            set.map_err(failed)
        };
        if !reads_only {
            set("page_size", &PAGE_BYTES.to_string())?;
            // Of a file that is there already it changes nothing.
            set("auto_vacuum", "INCREMENTAL")?;
            set("journal_mode", "WAL")?;
            let most = options.max_bytes.unwrap_or(u64::MAX);
            let idle = MAX_IDLE_WAL_BYTES.min(most);
            let pages = CHECKPOINT_PAGES.min(most / PAGE_BYTES / 4).max(16);
            set("journal_size_limit", &idle.to_string())?;
            set("wal_autocheckpoint", &pages.to_string())?;
            set("foreign_keys", "ON")?;
            let sync = match options.sync {
                SqliteSync::Full => "FULL",
                SqliteSync::Normal => "NORMAL",
            };
            set("synchronous", sync)?;
            if let Some(bytes) = options.max_bytes {
                set("max_page_count", &(bytes / PAGE_BYTES).max(1).to_string())?;
            }
        }
        Ok(connection)
    }
}

/// Brings the schema up to date. SQLite keeps its version in the file's header.
fn migrate(connection: &Connection) -> Result<(), StoreError> {
    let version = || -> rusqlite::Result<i64> {
        connection.pragma_query_value(None, "user_version", |row| row.get(0))
    };
    let latest = MIGRATIONS.last().map_or(0, |migration| migration.version);
    if version().map_err(failed)? == latest {
        return Ok(());
    }
    // Another process may do the same.
    connection
        .execute_batch("BEGIN IMMEDIATE")
        .map_err(failed)?;
    let migrated = version().map_err(failed).and_then(|version| {
        if version > latest {
            return Err(StoreError::TooNew {
                message: format!("its schema is of version {version}"),
            });
        }
        let new = MIGRATIONS.iter().filter(|new| new.version > version);
        for migration in new {
            let sql = migration.sql(SqliteSession::WORDS);
            connection.execute_batch(&sql).map_err(failed)?;
        }
        let set = connection.pragma_update(None, "user_version", latest);
        set.map_err(failed)
    });
    let end = if migrated.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let ended = connection.execute_batch(end).map_err(failed);
    migrated.and(ended)
}

impl Database for Sqlite {
    type Session = SqliteSession;

    async fn query<T: Send + 'static>(
        &self,
        access: Access,
        query: Query<SqliteSession, T>,
    ) -> Result<T, StoreError> {
        self.readers.query(access, query).await
    }

    fn submit(&self, job: Box<dyn Job<SqliteSession>>) {
        self.writer.submit(job);
    }

    fn subscribe(&self, thread: &ThreadKey) -> Changes {
        let changes = self.wakers.subscribe(thread);
        self.writer.watch();
        changes
    }
}
