//! Wakes whoever follows a thread.

use crate::base::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use stepwell_core::registry::ThreadKey;
use tokio::sync::watch;

/// Tells that something of a thread may have changed. Changes that follow each other are told once; what has changed
/// is to be read from the store.
#[derive(Debug)]
pub struct Changes {
    receiver: watch::Receiver<()>,
}

impl Changes {
    /// Waits for a change after the last one that was told, or after the subscription. It may wake for nothing, and it
    /// does when it cannot be known whether something was missed. Dropping the future loses nothing.
    pub async fn changed(&mut self) {
        if self.receiver.changed().await.is_err() {
            // The store is gone: nothing will change any more.
            std::future::pending::<()>().await;
        }
    }
}

/// The subscriptions of one process, for those who write a [`Store`](super::Store).
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

    /// Something of the thread has changed.
    pub fn wake(&self, thread: &ThreadKey) {
        if let Some(sender) = lock(&self.threads).get(thread) {
            sender.send_replace(());
        }
    }

    /// Anything may have changed.
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
    async fn a_change_between_subscribing_and_waiting_is_not_missed() {
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
    fn nobody_left_is_forgotten() {
        let wakers = Wakers::default();
        drop(wakers.subscribe(&"a".into()));
        let _b = wakers.subscribe(&"b".into());
        assert_eq!(lock(&wakers.threads).len(), 1);
    }
}
