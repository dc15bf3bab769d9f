//! The rules of Stepwell's own stores, for the store of the app: the part that an agent uses.
#[path = "../src/bin/stored/own_store.rs"]
mod own_store;

use own_store::OwnStore;
use std::sync::Arc;

/// Opens a new, empty store for each test.
async fn open(_test: &str) -> Arc<OwnStore> {
    Arc::new(OwnStore::open(":memory:").expect("a database"))
}

mod contract {
    stepwell_io::store_contract!(super::open, turns);
}
