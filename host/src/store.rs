//! The store that the settings name.

use crate::failure::Failure;
use std::path::Path;
use std::sync::Arc;
use stepwell_io::store::{MemoryStore, PostgresStore, SqliteStore, Store, StoreError};

/// Opens the store that goes by this address: `memory`, `sqlite:FILE`, `postgres://…`.
pub(crate) async fn open(address: &str) -> Result<Arc<dyn Store>, Failure> {
    if address == "memory" {
        return Ok(Arc::new(MemoryStore::new()));
    }
    if let Some(path) = address.strip_prefix("sqlite:") {
        if path.is_empty() {
            return Err(unknown(address));
        }
        if let Some(folder) = Path::new(path).parent() {
            let failed = |error| Failure::failed(format!("{}: {error}", folder.display()));
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let store = SqliteStore::open(path).await;
        return Ok(Arc::new(store.map_err(|error| unusable(path, &error))?));
    }
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        let store = PostgresStore::connect(address).await;
        // The address may hold a password.
        let store = store.map_err(|error| unusable("PostgreSQL", &error))?;
        return Ok(Arc::new(store));
    }
    Err(unknown(address))
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
