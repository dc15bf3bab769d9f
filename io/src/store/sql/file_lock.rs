//! One process a file: a lock that dies with its process.

use crate::store::StoreError;
use crate::threads::lock;
use fs4::{FileExt, TryLockError};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

/// The locks of this process: whoever opens a file again in it shares its lock.
static LOCKS: Mutex<Option<HashMap<PathBuf, Weak<FileLock>>>> = Mutex::new(None);

/// That no other process has a file open as a store, until it is dropped. The system takes it back from a process that
/// dies, however it dies.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Locks a database's file, by one beside it: other programs may read the database itself. It stays when the lock
    /// goes, since removing it would let two processes lock two files of one name.
    pub(super) fn of(database: &Path) -> Result<Arc<Self>, StoreError> {
        let failed = |error: &io::Error| unusable(database, error);
        let path = beside(database).map_err(|error| failed(&error))?;
        let mut locks = lock(&LOCKS);
        let locks = locks.get_or_insert_default();
        locks.retain(|_, held| held.strong_count() > 0);
        if let Some(held) = locks.get(&path).and_then(Weak::upgrade) {
            return Ok(held);
        }
        let file = open(&path).map_err(|error| unusable(&path, &error))?;
        match FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "{}: another process has it open; end that one, or give this one a file of its own",
                    database.display()
                );
                return Err(StoreError::Unavailable { message });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(&path, &error)),
        }
        let held = Arc::new(Self { _file: file });
        locks.insert(path, Arc::downgrade(&held));
        Ok(held)
    }
}

/// `FILE-lock`, by the one name that the file has, whatever leads to it.
fn beside(database: &Path) -> io::Result<PathBuf> {
    let whole = match database.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = database.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
            folder.join(database.file_name().unwrap_or_default())
        }
        whole => whole?,
    };
    let mut name = OsString::from(whole);
    name.push("-lock");
    Ok(name.into())
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Why a file cannot be used.
pub(super) fn unusable(path: &Path, error: &io::Error) -> StoreError {
    use io::ErrorKind;
    let message = format!("{}: {error}", path.display());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full { message },
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly { message }
        }
        _ => StoreError::Unavailable { message },
    }
}
