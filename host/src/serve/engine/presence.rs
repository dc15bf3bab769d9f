//! That a host lives: the others on its store do not take its turns meanwhile.

use super::driver::{DriverSetup, LONGEST_REQUEST};
use std::sync::Arc;
use stepwell_io::store::{Presence, StoreError};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// This host among those on the store.
#[derive(Debug, Default)]
pub(super) struct Attends {
    presence: Mutex<Option<Arc<Presence>>>,
    pub(super) over: CancellationToken,
}

impl Attends {
    /// That this host lives, from the first call on.
    pub(super) async fn presence(&self, setup: &DriverSetup) -> Result<Arc<Presence>, StoreError> {
        let mut presence = self.presence.lock().await;
        Ok(match &*presence {
            Some(presence) => Arc::clone(presence),
            None => {
                let attended = Arc::new(setup.store.attend(&setup.owner).await?);
                Arc::clone(presence.insert(attended))
            }
        })
    }

    /// Waits until the other hosts know that this one lives: a turn that it begins or claims before is taken from it.
    ///
    /// # Errors
    /// The store cannot be reached.
    pub(super) async fn there(&self, setup: &DriverSetup) -> Result<(), StoreError> {
        let there = async {
            self.presence(setup).await?.held().await;
            Ok(())
        };
        let there = tokio::time::timeout(LONGEST_REQUEST, there).await;
        there.unwrap_or_else(|_| {
            let message = "it does not know that this host lives".to_owned();
            Err(StoreError::Unavailable { message })
        })
    }

    /// This host drives no turn any more: the others need not wait until it has ended.
    pub(super) async fn leave(&self) {
        self.over.cancel();
        drop(self.presence.lock().await.take());
    }
}
