use super::SqlStore;
use super::database::{Access, Database, Row, Transaction, Value, drive, failed_by, not_migrated};
use super::file_lock::{FileLock, unusable};
use super::schema::{Migrations, Words};
use crate::store::StoreError;
use crate::store::presence::Presence;
use crate::store::wake::Wakers;
use crate::threads::lock;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    Sqlite as Driver, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;

/// A store in a file of its own, which one process uses at a time: a second one is refused, until the first has closed it
/// or has died. Other programs may read it, and one process may open it several times; whoever follows a thread is woken
/// by the changes of the store that it follows it on.
///
/// The file is in WAL mode: beside it lie `-wal` and `-shm`, and `-lock`, which is empty and stays. On Unix all four are
/// made for their owner alone.
pub type SqliteStore = SqlStore<Sqlite>;

/// How a file is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// When a write counts as stored.
    pub sync: SqliteSync,
    /// How long to wait while another process writes.
    pub busy_timeout: Duration,
    /// How large the file may become, in bytes. Beyond that the store is [full](StoreError::Full).
    pub max_bytes: Option<u64>,
    /// Only look: the file must exist, nothing is changed, and another process may have it open.
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

/// When a write counts as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SqliteSync {
    /// When the disk has it: it outlives a power cut.
    #[default]
    Full,
    /// When the system has it: it outlives a kill of the process. A power cut may take the last writes back, and a
    /// tool that they told of may be run again.
    Normal,
}

/// SQLite, in a file.
#[derive(Debug)]
pub struct Sqlite {
    /// One at a time writes; more would only wait for each other.
    writer: SqlitePool,
    readers: SqlitePool,
    wakers: Wakers,
    /// That no other process writes the file, until the store is closed.
    alone: Mutex<Option<Arc<FileLock>>>,
    /// The file as it was opened, if it is written.
    file: Option<OpenFile>,
}

/// As [`SqliteConnectOptions`] sets it.
const PAGE: u64 = 4096;
/// How long `-wal` may stay once what is in it is in the file, in bytes. SQLite cuts it when it begins anew.
const MAX_IDLE_WAL_BYTES: u64 = 4 << 20;
/// So many pages in `-wal` are brought into the file, as SQLite sets it.
const CHECKPOINT_PAGES: u64 = 1000;
const READERS: u32 = 4;

impl SqliteStore {
    /// Opens a file, or makes it, and brings its schema up to date.
    ///
    /// # Errors
    /// It cannot be opened or written, is no SQLite database, or of a later version; another process has it open
    /// ([`Unavailable`](StoreError::Unavailable)).
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::default()).await
    }

    /// As [`open`](Self::open), with other options than the default ones.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub async fn open_with(
        path: impl AsRef<Path>,
        options: SqliteOptions,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref();
        check_path(path)?;
        let mut alone = None;
        if !options.read_only {
            make_private(path)?;
            alone = Some(FileLock::of(path)?);
        }
        let mut connect = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(!options.read_only)
            .read_only(options.read_only)
            .busy_timeout(options.busy_timeout)
            .foreign_keys(true)
            .synchronous(match options.sync {
                SqliteSync::Full => SqliteSynchronous::Full,
                SqliteSync::Normal => SqliteSynchronous::Normal,
            });
        if !options.read_only {
            connect = connect
                .page_size(u32::try_from(PAGE).unwrap_or(4096))
                .journal_mode(SqliteJournalMode::Wal);
            let most = options.max_bytes.unwrap_or(u64::MAX);
            let idle = MAX_IDLE_WAL_BYTES.min(most);
            let pages = CHECKPOINT_PAGES.min(most / PAGE / 4).max(16);
            connect = connect
                .pragma("journal_size_limit", idle.to_string())
                .pragma("wal_autocheckpoint", pages.to_string());
        }
        if let Some(bytes) = options.max_bytes {
            let pages = (bytes / PAGE).max(1);
            connect = connect.pragma("max_page_count", pages.to_string());
        }
        let pool = |connections: u32| {
            SqlitePoolOptions::new()
                .max_connections(connections)
                .min_connections(0)
                // A file is not lost as a server is.
                .test_before_acquire(false)
        };
        let writer = pool(1).connect_with(connect.clone()).await;
        let writer = writer.map_err(failed)?;
        if !options.read_only {
            let migrated = migrate(&writer).await;
            migrated.map_err(|error| not_migrated(error, failed))?;
        }
        let file = match options.read_only {
            true => None,
            false => Some(OpenFile::of(path)?),
        };
        let readers = pool(READERS).connect_lazy_with(connect.read_only(true));
        Ok(Self::of(Sqlite {
            writer,
            readers,
            wakers: Wakers::default(),
            alone: Mutex::new(alone),
            file,
        }))
    }

    /// Waits for what is under way, brings all of `-wal` into the file, and closes it. Dropping the store does so too,
    /// later.
    pub async fn close(&self) {
        self.database.readers.close().await;
        // SQLite does so at the close of the last connection, which the driver does not wait for. What goes wrong here leaves
        // a file that is whole with its `-wal`.
        let checkpoint = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)");
        if self.database.file.is_some()
            && let Err(error) = checkpoint.execute(&self.database.writer).await
        {
            tracing::debug!(target: "stepwell", %error, "the write-ahead log stays");
        }
        self.database.writer.close().await;
        drop(lock(&self.database.alone).take());
    }
}

/// Checks that the file has a folder, and is one.
fn check_path(path: &Path) -> Result<(), StoreError> {
    let text = path.to_string_lossy();
    if text == ":memory:" || text.starts_with("file:") {
        return Err(StoreError::Refused {
            message: format!("`{text}` is no file: for turns in memory there is `MemoryStore`"),
        });
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(StoreError::Unavailable {
                message: format!(
                    "there is no folder `{}`: make it, or mount what it is on",
                    folder.display()
                ),
            })
        }
        _ => Ok(()),
    }
}

/// Which file a path named when it was opened.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    wal: PathBuf,
    identity: Identity,
    /// `-wal` was deleted: what was in it is lost, and another one would hide that.
    is_wal_lost: AtomicBool,
}

/// What tells a file from any other.
type Identity = (u64, u64);

impl OpenFile {
    fn of(path: &Path) -> Result<Self, StoreError> {
        let mut wal = path.as_os_str().to_owned();
        wal.push("-wal");
        Ok(Self {
            path: path.to_owned(),
            wal: wal.into(),
            identity: identity(path).map_err(|error| unusable(path, &error))?,
            is_wal_lost: AtomicBool::new(false),
        })
    }

    /// Checks that the path names the same file still: what is written into another one that was there is lost.
    fn check(&self) -> Result<(), StoreError> {
        if self.is_wal_lost.load(Ordering::Relaxed) {
            return Err(self.lost(&self.wal, "was deleted or moved"));
        }
        match identity(&self.path) {
            Ok(identity) if identity == self.identity => Ok(()),
            Ok(_) => Err(self.lost(&self.path, "was replaced")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(self.lost(&self.path, "was deleted or moved"))
            }
            Err(error) => Err(unusable(&self.path, &error)),
        }
    }

    /// Checks that `-wal` is there, which it is while a connection writes.
    fn check_wal(&self) -> Result<(), StoreError> {
        match self.wal.try_exists() {
            Ok(false) => {
                self.is_wal_lost.store(true, Ordering::Relaxed);
                Err(self.lost(&self.wal, "was deleted or moved"))
            }
            _ => Ok(()),
        }
    }

    fn lost(&self, path: &Path, what: &str) -> StoreError {
        let path = path.display();
        StoreError::Damaged {
            message: format!(
                "the file {path} {what} while it was open: stop this program, put the file back, and start again"
            ),
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// An open file can be neither deleted nor replaced.
#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<Identity> {
    std::fs::metadata(path).map(|_| (0, 0))
}

/// Makes the file if it is not there, for its owner alone: it holds conversations. SQLite gives `-wal` and `-shm` the
/// same mode. A file that is there keeps its own.
#[cfg(unix)]
fn make_private(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(unusable(path, &error))
        }
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

async fn migrate(writer: &SqlitePool) -> Result<(), MigrateError> {
    let migrator = Migrator::new(Migrations(Sqlite::WORDS)).await?;
    migrator.run(writer).await
}

impl Database for Sqlite {
    type Transaction = SqliteTransaction;

    const WORDS: Words = Words {
        serial: "INTEGER PRIMARY KEY",
        key: "INTEGER PRIMARY KEY",
        name: "TEXT",
        clustered: "WITHOUT ROWID",
    };
    /// The whole file is, from the beginning of a transaction that writes.
    const LOCKED: &'static str = "";
    /// No other process uses the file.
    const ABSENT: Option<&'static str> = None;

    async fn begin(&self, access: Access) -> Result<Self::Transaction, StoreError> {
        if let Some(file) = &self.file {
            file.check()?;
        }
        let (pool, begin) = match access {
            Access::Look => (&self.readers, None),
            Access::Read => (&self.readers, Some("BEGIN")),
            // A transaction that reads first and writes later may find the file changed in between.
            Access::Write => (&self.writer, Some("BEGIN IMMEDIATE")),
        };
        let mut transaction = SqliteTransaction {
            connection: pool.acquire().await.map_err(failed)?,
            is_begun: begin.is_some(),
            is_open: true,
        };
        if let Some(begin) = begin {
            transaction.execute(begin, &[]).await?;
        }
        if access == Access::Write
            && let Some(file) = &self.file
        {
            file.check_wal()?;
        }
        Ok(transaction)
    }

    async fn attend(&self, owner: &str) -> Result<Presence, StoreError> {
        Ok(Presence::here(owner))
    }

    async fn announce_with(
        &self,
        _: &mut Self::Transaction,
        _: &ThreadKey,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn announce(&self, _: &ThreadKey) {}

    fn wakers(&self) -> &Wakers {
        &self.wakers
    }
}

/// A transaction on a connection that is closed with it, if it is not committed. SQLite itself rolls back where a disk
/// is full or fails; a connection that is used again must not have lost count of that.
#[derive(Debug)]
pub struct SqliteTransaction {
    connection: PoolConnection<Driver>,
    /// Else each statement is one by itself.
    is_begun: bool,
    is_open: bool,
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        if self.is_open {
            self.connection.close_on_drop();
        }
    }
}

drive!(Driver, SqliteRow, SqliteTransaction);

fn connection(transaction: &mut SqliteTransaction) -> &mut SqliteConnection {
    &mut transaction.connection
}

async fn commit(mut transaction: SqliteTransaction) -> Result<(), sqlx::Error> {
    if transaction.is_begun {
        sqlx::query("COMMIT")
            .execute(connection(&mut transaction))
            .await?;
    }
    transaction.is_open = false;
    Ok(())
}

/// Result codes: <https://www.sqlite.org/rescode.html>.
fn failed(error: sqlx::Error) -> StoreError {
    failed_by(error, |database, message| {
        let code = database.code().and_then(|code| code.parse::<u32>().ok());
        // The lower byte is the code, the rest says more.
        match code.map(|code| code & 0xff) {
            // BUSY, LOCKED, IOERR, CANTOPEN, PROTOCOL
            Some(5 | 6 | 10 | 14 | 15) => StoreError::Unavailable { message },
            // NOMEM, FULL, TOOBIG
            Some(7 | 13 | 18) => StoreError::Full { message },
            // PERM, READONLY, AUTH
            Some(3 | 8 | 23) => StoreError::ReadOnly { message },
            // CORRUPT, NOTADB
            Some(11 | 26) => StoreError::Damaged { message },
            _ => StoreError::Other { message },
        }
    })
}
