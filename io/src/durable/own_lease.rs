//! The lease that an agent holds in its store while turns of it are under way.

use super::StoreSetup;
use crate::store::{Lease, StoreError};
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;

/// The lease that the turns of an agent share: the first of them takes the lease, and it ends with the last, so that a turn
/// that was suspended can be recovered by another agent. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnLease(Arc<Mutex<Weak<Lease>>>);

impl StoreSetup {
    /// Returns the lease of the owner, or nothing where the program holds one itself. Waits while the lease is lost.
    pub(crate) async fn lease(&self) -> Result<Option<Arc<Lease>>, StoreError> {
        let Some(OwnLease(own)) = &self.own_lease else {
            return Ok(None);
        };
        let lease = {
            let mut own = own.lock().await;
            match own.upgrade() {
                Some(lease) => lease,
                None => {
                    let lease =
                        Arc::new(Lease::acquire(Arc::clone(&self.store), &self.owner).await?);
                    *own = Arc::downgrade(&lease);
                    lease
                }
            }
        };
        lease.held().await;
        Ok(Some(lease))
    }
}
