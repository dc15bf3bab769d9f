//! The store that the settings name.

use std::path::Path;
use std::sync::Arc;
use stepwell_demo::Failure;
use stepwell_io::store::{
    MemoryStore, PostgresStore, SqliteOptions, SqliteStore, Store, StoreError,
};

/// How large a file may become: `sqlite:FILE?max_bytes=N`.
const MAX_BYTES: &str = "?max_bytes=";

/// The address of a store that ends with the process.
pub(crate) const MEMORY: &str = "memory";

/// Opens the store that goes by this address: `memory`, `sqlite:FILE`, `postgres://…`.
pub(crate) async fn open(address: &str) -> Result<Arc<dyn Store>, Failure> {
    if address == MEMORY {
        return Ok(Arc::new(MemoryStore::new()));
    }
    if let Some(path) = address.strip_prefix("sqlite:") {
        let (path, options) = file(path)?;
        if path.is_empty() {
            return Err(unknown(address));
        }
        if let Some(folder) = Path::new(path).parent() {
            let failed = |error| Failure::failed(format!("{}: {error}", folder.display()));
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let store = SqliteStore::open_with(path, options).await;
        return Ok(Arc::new(store.map_err(|error| unusable(path, &error))?));
    }
    if is_shared(address) {
        let store = PostgresStore::connect(address).await;
        // The address may hold a password.
        let store = store.map_err(|error| unusable("PostgreSQL", &error))?;
        return Ok(Arc::new(store));
    }
    Err(unknown(address))
}

/// Whether hosts on several machines can share the store of this address.
pub(crate) fn is_shared(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

/// What a store is called where its address may hold a password.
pub(crate) fn name(address: &str) -> String {
    match address.split_once("://") {
        Some(_) => "PostgreSQL".to_owned(),
        None => address.to_owned(),
    }
}

/// A file, and how it is used.
fn file(path: &str) -> Result<(&str, SqliteOptions), Failure> {
    let mut options = SqliteOptions::default();
    let Some((path, bytes)) = path.rsplit_once(MAX_BYTES) else {
        return Ok((path, options));
    };
    let bytes = bytes.parse().map_err(|_| {
        Failure::usage(format!(
            "`{bytes}` is no number of bytes: {MAX_BYTES}1000000"
        ))
    })?;
    options.max_bytes = Some(bytes);
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
