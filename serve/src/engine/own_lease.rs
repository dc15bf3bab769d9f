//! The lease of this host: the other hosts on its store do not take its turns meanwhile.

use crate::engine::{DriverSetup, LONGEST_REQUEST};
use std::sync::Arc;
use stepwell_io::store::{Lease, StoreError};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The lease of this host, taken when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct OwnLease {
    lease: Mutex<Option<Arc<Lease>>>,
    pub(crate) over: CancellationToken,
}

impl OwnLease {
    /// Returns the lease of this host.
    pub(crate) async fn lease(&self, setup: &DriverSetup) -> Result<Arc<Lease>, StoreError> {
        let mut lease = self.lease.lock().await;
        Ok(match &*lease {
            Some(lease) => Arc::clone(lease),
            None => {
                let taken = Lease::acquire(setup.store.clone(), &setup.owner).await?;
                Arc::clone(lease.insert(Arc::new(taken)))
            }
        })
    }

    /// Waits until this host holds its lease: a turn that it begins or claims before is taken from it.
    ///
    /// # Errors
    /// The store cannot be reached.
    pub(crate) async fn held(&self, setup: &DriverSetup) -> Result<(), StoreError> {
        let held = async {
            self.lease(setup).await?.held().await;
            Ok(())
        };
        let held = tokio::time::timeout(LONGEST_REQUEST, held).await;
        held.unwrap_or_else(|_| {
            let message = "it does not renew the lease of this host".to_owned();
            Err(StoreError::Unavailable { message })
        })
    }

    /// Ends the lease of a host that drives no turn any more: the others need not wait until it has expired.
    pub(crate) async fn end(&self) {
        self.over.cancel();
        let lease = self.lease.lock().await.take().and_then(Arc::into_inner);
        if let Some(lease) = lease {
            lease.end().await;
        }
    }
}
