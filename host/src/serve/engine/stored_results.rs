//! Which results of a turn's tools are stored. A result is shown once it is: after a kill the tool may not be run again,
//! and the person would be told otherwise than they have seen.

use std::collections::HashSet;
use std::sync::Arc;
use stepwell_core::ToolCallId;
use stepwell_core::run::{Block, BlockContent};
use stepwell_io::store::{Generation, PersistBatch, Store, StoreFuture, StoreLayer, TurnKey};
use tokio::sync::watch;

/// The store of one turn. Its writes tell which results are there.
#[derive(Debug)]
struct ResultStore {
    store: Arc<dyn Store>,
    stored: watch::Sender<HashSet<ToolCallId>>,
}

/// Knows which results are stored. Once the turn holds its store no more, there is none to wait for.
#[derive(Clone, Debug)]
pub(super) struct StoredResults(watch::Receiver<HashSet<ToolCallId>>);

/// A store for one turn, and what tells which results of it are stored.
pub(super) fn watched(store: Arc<dyn Store>) -> (Arc<dyn Store>, StoredResults) {
    let (stored, receiver) = watch::channel(HashSet::new());
    let store = Arc::new(ResultStore { store, stored });
    (store, StoredResults(receiver))
}

impl StoredResults {
    pub(super) fn has(&self, call: &ToolCallId) -> bool {
        self.0.borrow().contains(call)
    }

    /// Waits until the result of the call is stored, or will not be.
    pub(super) async fn until(&mut self, call: &ToolCallId) {
        let _ = self.0.wait_for(|stored| stored.contains(call)).await;
    }
}

impl StoreLayer for ResultStore {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.store.persist(turn, generation, batch).await?;
            let results = batch.blocks.iter().filter_map(result);
            self.stored.send_if_modified(|stored| {
                let before = stored.len();
                stored.extend(results);
                stored.len() > before
            });
            Ok(())
        })
    }
}

fn result(block: &Block) -> Option<ToolCallId> {
    match &block.content {
        BlockContent::ToolResult { tool_call_id, .. } => Some(tool_call_id.clone()),
        _ => None,
    }
}
