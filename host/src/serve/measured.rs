//! A store whose writes are measured.

use super::metrics::Metrics;
use futures::FutureExt;
use std::sync::Arc;
use stepwell_io::store::{Generation, PersistBatch, Store, StoreFuture, StoreLayer, TurnKey};
use tokio::time::Instant;

/// Hands all on to another store, and measures how long it takes to persist.
#[derive(Debug)]
pub(super) struct MeasuredStore {
    pub(super) store: Arc<dyn Store>,
    pub(super) metrics: Metrics,
}

impl StoreLayer for MeasuredStore {
    type Inner = dyn Store;

    fn inner(&self) -> &Self::Inner {
        &*self.store
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        async move {
            let begin = Instant::now();
            let done = self.store.persist(turn, generation, batch).await;
            self.metrics.persist(begin.elapsed(), done.is_ok());
            done
        }
        .boxed()
    }
}
