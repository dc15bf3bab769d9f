//! The threads of an agent, and which turn of each is the current one.

use crate::device::Device;
use crate::setup::Setup;
use crate::sources::Sources;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::RunId;
use stepwell_core::conversation::Conversation;
use stepwell_core::registry::{SharedRegistry, ThreadKey};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// What all threads of an agent share.
pub(crate) struct Shared {
    /// Without the tools of the sources.
    pub(crate) setup: Arc<Setup>,
    sources: Sources,
    pub(crate) registry: SharedRegistry,
    /// Something happened that the registry has an event for.
    pub(crate) changed: Arc<Notify>,
    pub(crate) device: watch::Sender<Device>,
    threads: Mutex<HashMap<ThreadKey, Arc<Thread>>>,
}

/// One conversation.
pub(crate) struct Thread {
    pub(crate) key: ThreadKey,
    pub(crate) conversation: Mutex<Known>,
    pub(crate) current: Mutex<Current>,
}

/// What this process knows of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) conversation: Conversation,
    /// The stored turn that it is as of.
    pub(crate) last: Option<RunId>,
}

/// The turn that owns a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Current {
    pub(crate) cancel: CancellationToken,
    /// It has put its conversation back: the next may begin.
    pub(crate) ended: CancellationToken,
}

impl Shared {
    pub(crate) fn new(setup: Setup, sources: Sources, registry: SharedRegistry) -> Self {
        Self {
            setup: Arc::new(setup),
            sources,
            registry,
            changed: Arc::default(),
            device: watch::Sender::default(),
            threads: Mutex::default(),
        }
    }

    /// What a turn that begins now is given.
    pub(crate) fn turn_setup(&self) -> Arc<Setup> {
        self.sources.add_to(&self.setup)
    }

    /// The thread of this key. A new one begins with `history`.
    pub(crate) fn thread(&self, key: ThreadKey, history: Conversation) -> Arc<Thread> {
        let mut threads = lock(&self.threads);
        let thread = threads
            .entry(key)
            .or_insert_with_key(|key| Arc::new(Thread::new(key.clone(), history)));
        Arc::clone(thread)
    }

    pub(crate) fn forget(&self, key: &ThreadKey) {
        let thread = lock(&self.threads).remove(key);
        if let Some(thread) = thread {
            let current = lock(&thread.current);
            self.registry.remove(key);
            current.cancel.cancel();
        }
        self.changed.notify_one();
    }
}

impl Thread {
    fn new(key: ThreadKey, history: Conversation) -> Self {
        let nobody = Current::default();
        nobody.ended.cancel();
        Self {
            key,
            conversation: Mutex::new(Known {
                conversation: history,
                last: None,
            }),
            current: Mutex::new(nobody),
        }
    }
}

/// Nothing is left half-done under these locks, so a panic elsewhere spoils nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
