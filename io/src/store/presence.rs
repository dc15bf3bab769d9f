//! Who is there of those that own turns.

use crate::threads::lock;
use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The owners of this process, and how often each is there.
static HERE: Mutex<Option<HashMap<String, usize>>> = Mutex::new(None);

/// The sign in a store that an owner lives, from [`Store::attend`](super::Store::attend) on until it is dropped, or until
/// its process dies. While it is held nobody takes the owner's turns for [orphans](super::Store::orphans).
///
/// A store on a server may lose it, where the connection breaks or the process is frozen; it takes it again by itself. Who
/// has lost it is to begin and to claim no turn until it is held again; what it had by then, others may have claimed.
pub struct Presence {
    /// None if it cannot be lost.
    held: Option<watch::Receiver<Option<Held>>>,
    leave: Option<Box<dyn FnOnce() + Send + Sync>>,
}

/// How long a store on a server is sure of a presence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Since when it is held without a break.
    pub since: Instant,
    /// Until when it is certain that nobody else takes the owner for dead, if nothing more is heard of the server.
    pub until: Instant,
}

impl Presence {
    /// A presence that is known in this process alone, for a store that only one process uses at a time. It is not lost.
    #[must_use]
    pub fn here(owner: &str) -> Self {
        *lock(&HERE)
            .get_or_insert_default()
            .entry(owner.to_owned())
            .or_default() += 1;
        let owner = owner.to_owned();
        Self {
            held: None,
            leave: Some(Box::new(move || {
                let mut here = lock(&HERE);
                let here = here.get_or_insert_default();
                if let Some(times) = here.get_mut(&owner) {
                    *times -= 1;
                    if *times == 0 {
                        here.remove(&owner);
                    }
                }
            })),
        }
    }

    /// Whether an owner is [here](Self::here), in this process.
    #[must_use]
    pub fn is_here(owner: &str) -> bool {
        let here = lock(&HERE);
        here.as_ref().is_some_and(|here| here.contains_key(owner))
    }

    /// A presence that a server keeps, as `held` says; `leave` ends it.
    #[must_use]
    pub fn kept(
        held: watch::Receiver<Option<Held>>,
        leave: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        Self {
            held: Some(held),
            leave: Some(Box::new(leave)),
        }
    }

    /// For how long it has been held without a break; `None` if it is lost at the moment.
    #[must_use]
    pub fn held_for(&self) -> Option<Duration> {
        let Some(held) = &self.held else {
            return Some(Duration::MAX);
        };
        let now = Instant::now();
        let held = (*held.borrow()).filter(|held| now < held.until);
        held.map(|held| now.duration_since(held.since))
    }

    /// Whether it is held.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held_for().is_some()
    }

    /// Waits until it is held. Dropping the future loses nothing.
    pub async fn held(&self) {
        let Some(held) = &self.held else { return };
        let mut held = held.clone();
        loop {
            held.mark_unchanged();
            if self.is_held() {
                return;
            }
            if held.changed().await.is_err() {
                // The store is closed: it is not taken again.
                std::future::pending::<()>().await;
            }
        }
    }
}

impl fmt::Debug for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presence")
            .field("held_for", &self.held_for())
            .finish_non_exhaustive()
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some(leave) = self.leave.take() {
            leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn an_owner_is_here_until_the_last_of_its_presences_is_dropped() {
        let owner = "of this test alone";
        let one = Presence::here(owner);
        let other = Presence::here(owner);
        assert!(one.is_held());
        drop(one);
        assert!(Presence::is_here(owner));
        drop(other);
        assert!(!Presence::is_here(owner));
    }

    #[tokio::test(start_paused = true)]
    async fn a_presence_that_nothing_is_heard_of_lapses_by_itself() {
        let (keep, held) = watch::channel(None);
        let presence = Presence::kept(held, || {});
        assert_eq!(presence.held_for(), None);
        let mut waiting = Box::pin(presence.held());
        assert_eq!(waiting.as_mut().now_or_never(), None);
        let since = Instant::now();
        let until = since + Duration::from_secs(4);
        keep.send_replace(Some(Held { since, until }));
        assert_eq!(waiting.now_or_never(), Some(()));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(presence.held_for(), Some(Duration::from_secs(3)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(presence.held_for(), None, "as after a freeze");
    }
}
