//! The rules of a store with all parts.

use super::support::{new_turn, whole_turn};
use crate::ThreadKey;
use crate::store::Store;
use std::sync::Arc;

/// Checks that a new title wakes the followers of a thread.
pub async fn a_new_title_wakes_followers(store: Arc<dyn Store>) {
    whole_turn(&*store, new_turn("t", "a", 1)).await;
    let thread = ThreadKey::from("t");
    let mut changes = store.subscribe(&thread).await.unwrap();
    store.rename_thread(&thread, "title").await.unwrap();
    changes.changed().await;
}
