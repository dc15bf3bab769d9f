//! The lease of an owner, as its owner and other processes see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_io::store::{
    Lease, LeaseKey, MemoryStore, NewTurn, Store, StoreFuture, StoreLayer, TurnKey, TurnStore,
};
use tokio::time::sleep;

/// A store that does not answer while the flag is set.
#[derive(Debug, Default)]
struct Away {
    inner: MemoryStore,
    is_away: AtomicBool,
}

impl StoreLayer for Away {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.inner
    }

    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        match self.is_away.load(Ordering::Relaxed) {
            true => Box::pin(std::future::pending()),
            false => TurnStore::renew_lease(&self.inner, key, term),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_lasts_while_it_is_renewed() {
    let store = Arc::new(Away::default());
    let new = NewTurn::new(TurnKey::new("t", "a"), "leased", Timestamp(1));
    TurnStore::begin_turn(&store.inner, &new).await.unwrap();
    let orphans = async || TurnStore::orphans(&store.inner).await.unwrap().len();
    assert_eq!(orphans().await, 1);
    let lease = Lease::acquire(Arc::clone(&store) as Arc<dyn Store>, "leased");
    let lease = lease.await.unwrap();
    // Between two renewals.
    sleep(Duration::from_millis(3_600_500)).await;
    assert!(lease.held_for().unwrap() > Duration::from_secs(3_590));
    assert_eq!(orphans().await, 0);
    // The owner relies on the lease no longer before the store takes it for expired.
    store.is_away.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(4)).await;
    assert!(!lease.is_held());
    assert_eq!(orphans().await, 0);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(orphans().await, 1);
    store.is_away.store(false, Ordering::Relaxed);
    lease.held().await;
    assert!(lease.held_for().unwrap() < Duration::from_secs(1));
    assert_eq!(orphans().await, 0);
    lease.end().await;
    assert_eq!(orphans().await, 1);
}
