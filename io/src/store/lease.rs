//! Leases of the owners of turns.

use super::TurnStore;
use super::error::StoreError;
use super::leases::LeaseKey;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long a lease is valid without being renewed.
pub(crate) const LEASE_TERM: Duration = Duration::from_secs(5);
/// How often a lease is renewed.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(1);
/// How long an owner relies on a renewal, counted from before the store was asked.
const TRUSTED_TERM: Duration = Duration::from_secs(4);
/// How long the store may take to renew a lease.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// A lease of an owner of turns, renewed until it is dropped or its process dies. While the lease is held the owner's turns
/// are no [orphans](TurnStore::orphans).
///
/// An owner may lose its lease: the store cannot be reached, or the process was frozen. The lease is renewed again as soon
/// as that is possible. Until then its owner should begin and claim no turn; other hosts may have claimed those it had.
#[derive(Debug)]
pub struct Lease {
    held: watch::Receiver<Option<HeldPeriod>>,
    end: DropGuard,
}

/// A lease that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeldPeriod {
    /// The time since which the lease is held without a break.
    since: Instant,
    /// The time until which the lease has certainly not expired, even if it is not renewed.
    until: Instant,
}

impl Lease {
    /// Takes a lease. Each owner has a unique name, which is new for each start of its process.
    ///
    /// # Errors
    /// The store cannot be written, or refuses the name.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn acquire(store: Arc<dyn TurnStore>, owner: &str) -> Result<Self, StoreError> {
        let key = LeaseKey::new(owner);
        let since = Instant::now();
        renew(&*store, &key).await?;
        let until = since + TRUSTED_TERM;
        let (sender, held) = watch::channel(Some(HeldPeriod { since, until }));
        let end = CancellationToken::new();
        tokio::spawn(keep(store, key, sender, end.clone()));
        Ok(Self {
            held,
            end: end.drop_guard(),
        })
    }

    /// Returns for how long the lease has been held without a break; `None` if it is lost at the moment.
    #[must_use]
    pub fn held_for(&self) -> Option<Duration> {
        let now = Instant::now();
        let held = (*self.held.borrow()).filter(|held| now < held.until);
        held.map(|held| now.duration_since(held.since))
    }

    /// Returns whether the lease is held.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held_for().is_some()
    }

    /// Ends the lease, and waits until the store has stored that, or cannot be reached. Dropping the lease ends it too,
    /// later.
    pub async fn end(self) {
        let Self { mut held, end } = self;
        drop(end);
        while held.changed().await.is_ok() {}
    }

    /// Waits until the lease is held. Dropping the future loses nothing.
    pub async fn held(&self) {
        let mut held = self.held.clone();
        loop {
            held.mark_unchanged();
            if self.is_held() {
                return;
            }
            if held.changed().await.is_err() {
                // The runtime is about to end.
                std::future::pending::<()>().await;
            }
        }
    }
}

async fn renew(store: &dyn TurnStore, key: &LeaseKey) -> Result<(), StoreError> {
    let renewed = tokio::time::timeout(ANSWER_TIMEOUT, store.renew_lease(key, LEASE_TERM)).await;
    renewed.unwrap_or_else(|_| {
        Err(StoreError::Unavailable {
            message: format!("no answer in {} s", ANSWER_TIMEOUT.as_secs()),
        })
    })
}

/// Renews a lease until its end.
async fn keep(
    store: Arc<dyn TurnStore>,
    key: LeaseKey,
    held: watch::Sender<Option<HeldPeriod>>,
    end: CancellationToken,
) {
    let mut ticks = tokio::time::interval(RENEWAL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick is at once.
    ticks.tick().await;
    loop {
        tokio::select! {
            biased;
            () = end.cancelled() => break,
            _ = ticks.tick() => {}
        }
        let asked_at = Instant::now();
        let renewed = renew(&*store, &key).await;
        let before = (*held.borrow()).filter(|held| asked_at < held.until);
        match renewed {
            Ok(()) => {
                let since = before.map_or(asked_at, |held| held.since);
                let until = asked_at + TRUSTED_TERM;
                held.send_replace(Some(HeldPeriod { since, until }));
            }
            Err(error) if before.is_some() => {
                tracing::warn!(target: "stepwell", %error, "the lease of this host cannot be renewed; trying again");
            }
            Err(_) => {}
        }
    }
    // A lease that is not ended expires.
    let _ = tokio::time::timeout(ANSWER_TIMEOUT, store.end_lease(&key)).await;
    drop(held);
}
