//! The lease that an agent holds in its store while turns of it are under way.

use crate::store::{Lease, StoreError, TurnStore};
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;

/// The lease that the turns of an agent share: the first turn takes the lease, and it ends with the last, so that
/// another agent can recover a turn that was suspended. Clones share the lease.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnLease(Arc<Mutex<Weak<Lease>>>);

impl OwnLease {
    /// Returns the lease, and takes it if no turn has it. Waits while the lease is lost.
    pub(super) async fn held(
        &self,
        store: &Arc<dyn TurnStore>,
        owner: &str,
    ) -> Result<Arc<Lease>, StoreError> {
        let lease = {
            let mut own = self.0.lock().await;
            match own.upgrade() {
                Some(lease) => lease,
                None => {
                    let lease = Arc::new(Lease::acquire(Arc::clone(store), owner).await?);
                    *own = Arc::downgrade(&lease);
                    lease
                }
            }
        };
        lease.held().await;
        Ok(lease)
    }
}
