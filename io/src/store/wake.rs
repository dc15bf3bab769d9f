//! Wakes the followers of a thread.

use crate::base::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use stepwell_core::registry::ThreadKey;
use tokio::sync::watch;

/// Reports that a thread may have changed. Changes in quick succession are reported once. What has changed must be read
/// from the store.
#[derive(Debug)]
pub struct Changes {
    receiver: watch::Receiver<()>,
}

impl Changes {
    /// Waits for a change after the last reported one, or after the subscription. It may wake for nothing, and wakes if
    /// a change may have been missed. Dropping the future loses nothing.
    pub async fn changed(&mut self) {
        if self.receiver.changed().await.is_err() {
            // The store is gone: nothing will change any more.
            std::future::pending::<()>().await;
        }
    }
}

/// The subscriptions of one process, for implementations of [`EventStore`](super::EventStore).
#[derive(Clone, Debug, Default)]
pub struct Wakers {
    threads: Arc<Mutex<HashMap<ThreadKey, watch::Sender<()>>>>,
}

impl Wakers {
    /// Follows a thread.
    #[must_use]
    pub fn subscribe(&self, thread: &ThreadKey) -> Changes {
        let mut threads = lock(&self.threads);
        threads.retain(|_, sender| sender.receiver_count() > 0);
        let sender = threads.entry(thread.clone()).or_default();
        Changes {
            receiver: sender.subscribe(),
        }
    }

    /// Returns whether a thread is followed.
    #[must_use]
    pub fn has_followers(&self) -> bool {
        let threads = lock(&self.threads);
        threads.values().any(|sender| sender.receiver_count() > 0)
    }

    /// Reports that a thread has changed.
    pub fn wake(&self, thread: &ThreadKey) {
        if let Some(sender) = lock(&self.threads).get(thread) {
            sender.send_replace(());
        }
    }

    /// Reports that any thread may have changed.
    pub fn wake_all(&self) {
        for sender in lock(&self.threads).values() {
            sender.send_replace(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_changes_between_subscribing_and_waiting() {
        let wakers = Wakers::default();
        let mut changes = wakers.subscribe(&"a".into());
        wakers.wake(&"b".into());
        wakers.wake(&"a".into());
        wakers.wake(&"a".into());
        changes.changed().await;
        let again = futures::FutureExt::now_or_never(changes.changed());
        assert_eq!(again, None, "two changes are told once");
        wakers.wake_all();
        changes.changed().await;
    }

    #[test]
    fn forgets_threads_without_followers() {
        let wakers = Wakers::default();
        drop(wakers.subscribe(&"a".into()));
        let _b = wakers.subscribe(&"b".into());
        assert_eq!(lock(&wakers.threads).len(), 1);
    }
}
