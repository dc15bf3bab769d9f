//! The names of leases, and the leases of a store that a single process uses.

use super::process;
use crate::base::lock;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// The name of a lease. An owner may hold several leases at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaseKey {
    /// The owner of turns.
    pub owner: String,
    /// Distinguishes the leases of one owner, and names the process that took the lease where that can be known.
    pub id: String,
}

impl LeaseKey {
    /// Returns the name of a new lease.
    pub(super) fn new(owner: &str) -> Self {
        let id = Uuid::new_v4().simple().to_string();
        Self {
            owner: owner.to_owned(),
            id: match process::this_process() {
                Some(process) => format!("{id}@{process}"),
                None => id,
            },
        }
    }

    /// Returns whether the process that took the lease is known to be dead: such a lease need not be waited for.
    #[must_use]
    pub fn is_of_dead_process(&self) -> bool {
        let process = self.id.split_once('@');
        process.is_some_and(|(_, process)| process::is_dead(process))
    }
}

/// The leases of a store that a single process uses.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<HashMap<LeaseKey, Instant>>);

/// The leases of stores that keep none themselves.
static HERE: LazyLock<Leases> = LazyLock::new(Leases::default);

impl Leases {
    /// The leases of this process, for stores that keep none themselves.
    pub(super) fn here() -> &'static Self {
        &HERE
    }

    /// Renews a lease.
    pub(super) fn renew(&self, key: &LeaseKey, term: Duration) {
        let now = Instant::now();
        let mut leases = lock(&self.0);
        leases.retain(|_, expires_at| *expires_at > now);
        leases.insert(key.clone(), now + term);
    }

    /// Ends a lease.
    pub(super) fn end(&self, key: &LeaseKey) {
        lock(&self.0).remove(key);
    }

    /// Returns whether an owner holds a lease.
    pub(super) fn are_held_by(&self, owner: &str) -> bool {
        let now = Instant::now();
        let leases = lock(&self.0);
        let mut own = leases.iter().filter(|(key, _)| key.owner == owner);
        own.any(|(_, expires_at)| *expires_at > now)
    }
}
