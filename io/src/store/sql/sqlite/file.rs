//! The file of a store: which one it is, and whether it is still there.

use crate::store::StoreError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Checks that the file has a folder, and is one.
pub(super) fn check_path(path: &Path) -> Result<(), StoreError> {
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
pub(super) struct OpenFile {
    path: PathBuf,
    wal: PathBuf,
    identity: Identity,
    /// `-wal` was deleted: what was in it is lost, and another one would hide that.
    is_wal_lost: AtomicBool,
}

/// The numbers that distinguish a file from any other.
type Identity = (u64, u64);

impl OpenFile {
    pub(super) fn of(path: &Path) -> Result<Self, StoreError> {
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
    pub(super) fn check(&self) -> Result<(), StoreError> {
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
    pub(super) fn check_wal(&self) -> Result<(), StoreError> {
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
pub(super) fn make_private(path: &Path) -> Result<(), StoreError> {
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
pub(super) fn make_private(_: &Path) -> Result<(), StoreError> {
    Ok(())
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
