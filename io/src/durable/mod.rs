//! Turns that survive: what an agent with a store writes of them, and how a later process goes on.

mod begin;
mod history;
mod load;
mod own_lease;
mod patience;
mod recover;
mod resend;
mod take_over;
mod writer;

pub(crate) use begin::{BeginFrom, Beginning, not_stored};
pub(crate) use history::{last_of, revive_stored};
pub(crate) use own_lease::OwnLease;
pub(crate) use patience::{Notices, Patience, in_time};
pub use recover::Recovered;
pub(crate) use writer::{Trouble, Writer};

use crate::store::{Generation, Store, TurnKey};
use std::fmt;
use std::sync::Arc;

/// The store of an agent, and under which name it writes there.
#[derive(Clone)]
pub(crate) struct StoreSetup {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) owner: String,
    /// That its owner lives, where the agent says so itself.
    pub(crate) own_lease: Option<OwnLease>,
    /// Whether writes wait for the store however long it takes.
    pub(crate) waits: bool,
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
    /// Its name.
    pub key: TurnKey,
    /// What it is written with: to log its events, say.
    pub generation: Generation,
}
