//! The store that the settings name.

use std::sync::Arc;
use std::time::Duration;
use stepwell_demo::Failure;
use stepwell_io::store::{
    MemoryStore, PostgresStore, SqliteOptions, SqliteStore, Store, StoreError,
};

/// The parameter for the maximum size of a file: `sqlite:FILE?max_bytes=N`.
const MAX_BYTES: &str = "max_bytes";

/// The address of a store in memory.
pub(crate) const MEMORY: &str = "memory";

/// An open store.
#[derive(Clone, Debug)]
pub(crate) enum OpenStore {
    Memory(Arc<MemoryStore>),
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>),
}

impl OpenStore {
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(store) => Arc::clone(store) as Arc<dyn Store>,
            Self::Sqlite(store) => Arc::clone(store) as Arc<dyn Store>,
            Self::Postgres(store) => Arc::clone(store) as Arc<dyn Store>,
        }
    }

    /// Closes the store, so that a file is complete. Waits a short time for operations in progress.
    pub(crate) async fn close(&self) {
        let close = async {
            match self {
                Self::Memory(_) => {}
                Self::Sqlite(store) => store.close().await,
                Self::Postgres(store) => store.close().await,
            }
        };
        if tokio::time::timeout(CLOSE_TIMEOUT, close).await.is_err() {
            tracing::warn!(target: "stepwell", "the store could not be closed in time: nothing is lost, but a file is complete only with its `-wal`");
        }
    }
}

/// The time that it may take to close a store.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the store at an address: `memory`, `sqlite:FILE`, `postgres://…`.
pub(crate) async fn open(address: &str) -> Result<OpenStore, Failure> {
    if address == MEMORY {
        return Ok(OpenStore::Memory(Arc::new(MemoryStore::new())));
    }
    if let Some(path) = address.strip_prefix("sqlite:") {
        let (path, options) = file(path)?;
        if path.is_empty() {
            return Err(unknown(address));
        }
        let store = SqliteStore::open_with(path, options).await;
        let store = store.map_err(|error| unusable(path, &error))?;
        return Ok(OpenStore::Sqlite(Arc::new(store)));
    }
    if is_shared(address) {
        let store = PostgresStore::connect(address).await;
        // The address may hold a password.
        let store = store.map_err(|error| unusable("PostgreSQL", &error))?;
        return Ok(OpenStore::Postgres(Arc::new(store)));
    }
    Err(unknown(address))
}

/// Returns whether hosts on several machines can share the store at this address.
pub(crate) fn is_shared(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

/// Returns a name for the store without its address, which may hold a password.
pub(crate) fn name(address: &str) -> String {
    match address.split_once("://") {
        Some(_) => "PostgreSQL".to_owned(),
        None => address.to_owned(),
    }
}

/// Splits the path of a file from its options.
fn file(path: &str) -> Result<(&str, SqliteOptions), Failure> {
    let mut options = SqliteOptions::default();
    let Some((path, query)) = path.split_once('?') else {
        return Ok((path, options));
    };
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=').unwrap_or((parameter, "")) {
            (MAX_BYTES, bytes) => {
                options.max_bytes = Some(bytes.parse().map_err(|_| {
                    Failure::usage(format!(
                        "`{bytes}` is no number of bytes: write `sqlite:FILE?{MAX_BYTES}=1000000`"
                    ))
                })?);
            }
            (name, _) => {
                return Err(Failure::usage(format!(
                    "a store in a file has no parameter `{name}`: there is `{MAX_BYTES}`, as in \
                     `sqlite:FILE?{MAX_BYTES}=1000000`"
                )));
            }
        }
    }
    Ok((path, options))
}

fn unusable(name: &str, error: &StoreError) -> Failure {
    Failure::failed(format!("the store {name}: {error}"))
}

fn unknown(address: &str) -> Failure {
    let scheme = address.split(':').next().unwrap_or_default();
    Failure::usage(format!(
        "`{scheme}` is no store: write `memory`, `sqlite:FILE` or `postgres://USER@HOST/DATABASE`"
    ))
}
