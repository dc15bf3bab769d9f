//! The store of an agent, and a turn as that store knows it.

use super::own_lease::OwnLease;
use crate::store::{Generation, Lease, StoreError, TurnKey, TurnStore};
use std::fmt;
use std::sync::Arc;

/// The store of an agent, and the owner that writes there.
#[derive(Clone)]
pub(crate) struct StoreSetup {
    pub(crate) store: Arc<dyn TurnStore>,
    pub(crate) owner: String,
    /// The lease of the owner, if the agent holds it itself.
    pub(crate) own_lease: Option<OwnLease>,
    /// Whether writes wait for the store however long it takes.
    pub(crate) waits: bool,
}

impl StoreSetup {
    /// Returns the lease of the owner; `None` if the program holds it itself. Waits while the lease is lost.
    pub(crate) async fn lease(&self) -> Result<Option<Arc<Lease>>, StoreError> {
        match &self.own_lease {
            Some(own) => own.held(&self.store, &self.owner).await.map(Some),
            None => Ok(None),
        }
    }
}

impl fmt::Debug for StoreSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSetup")
            .field("owner", &self.owner)
            .field("waits", &self.waits)
            .finish_non_exhaustive()
    }
}

/// A turn as its store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTurn {
    /// The turn's key.
    pub key: TurnKey,
    /// The generation with which the turn is written: to log its events, say.
    pub generation: Generation,
}
