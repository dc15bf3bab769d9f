//! A new, empty store for each test.

use stepwell_io::store::contract::OpenedStore;
use stepwell_io::store::{MemoryStore, StoreLayer};

pub(crate) async fn memory(_test: &str) -> OpenedStore<MemoryStore> {
    OpenedStore::new(MemoryStore::new(), ())
}

/// A layer that changes nothing.
#[derive(Debug)]
pub(crate) struct Layer(MemoryStore);

impl StoreLayer for Layer {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.0
    }
}

pub(crate) async fn layer(_test: &str) -> OpenedStore<Layer> {
    OpenedStore::new(Layer(MemoryStore::new()), ())
}

#[cfg(feature = "sqlite")]
pub(crate) use sqlite::{Directory, sqlite};

#[cfg(feature = "sqlite")]
mod sqlite {
    use super::OpenedStore;
    use std::path::PathBuf;
    use stepwell_io::store::SqliteStore;
    use tempfile::TempDir;

    /// A directory of the test's own, which goes with it.
    pub(crate) struct Directory(TempDir);

    impl Directory {
        pub(crate) fn new(test: &str) -> Self {
            Self(TempDir::with_prefix(test).unwrap())
        }

        pub(crate) fn file(&self) -> PathBuf {
            self.0.path().join("turns.db")
        }
    }

    pub(crate) async fn sqlite(test: &str) -> OpenedStore<SqliteStore> {
        let directory = Directory::new(test);
        let store = SqliteStore::open(directory.file()).await.unwrap();
        OpenedStore::new(store, directory)
    }
}

#[cfg(feature = "postgres")]
pub(crate) use postgres::{options, postgres, postgres_url};

#[cfg(feature = "postgres")]
mod postgres {
    use super::OpenedStore;
    use std::sync::atomic::{AtomicU32, Ordering};
    use stepwell_io::store::{PostgresOptions, PostgresStore};

    /// The address of the server, or `None` and a note.
    pub(crate) fn postgres_url() -> Option<String> {
        let url = std::env::var("STEPWELL_POSTGRES").ok();
        if url.is_none() {
            eprintln!(
                "SKIPPED: set STEPWELL_POSTGRES to a server's address, or run `cargo xtask test store-postgres`"
            );
        }
        url
    }

    /// A schema of the test's own.
    pub(crate) fn options(test: &str) -> PostgresOptions {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut options = PostgresOptions::default();
        // A name has 63 bytes at most.
        let test: String = test.chars().take(40).collect();
        options.schema = Some(format!("{test}_{}_{next}", std::process::id()));
        options.max_connections = 4;
        options
    }

    pub(crate) async fn postgres(test: &str) -> Option<OpenedStore<PostgresStore>> {
        let url = postgres_url()?;
        let store = PostgresStore::connect_with(&url, options(test)).await;
        Some(OpenedStore::new(store.unwrap(), ()))
    }
}
