//! The threads of an agent, and the current turn of each.

use crate::agent::sources::Sources;
use crate::agent::when_busy::WhenBusy;
use crate::app::device::Device;
use crate::app::setup::Setup;
use crate::base::lock;
use crate::turn::current::CurrentTurn;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use stepwell_core::RunId;
use stepwell_core::registry::{SharedRegistry, ThreadKey};
use stepwell_core::transcript::Transcript;
use tokio::sync::{Notify, watch};

/// The state that all threads of an agent share.
pub(crate) struct Shared {
    /// The setup without the tools of the sources.
    pub(crate) setup: Arc<Setup>,
    sources: Sources,
    pub(crate) registry: SharedRegistry,
    /// Notified when the registry may have an event.
    pub(crate) changed: Arc<Notify>,
    pub(crate) device: watch::Sender<Device>,
    pub(crate) when_busy: WhenBusy,
    threads: Arc<Threads>,
}

/// The threads that are in use: the app holds an [`Agent`](crate::Agent) on the thread, or a turn of it is under way. A
/// thread is released with the last of these.
#[derive(Debug, Default)]
struct Threads(Mutex<HashMap<ThreadKey, Weak<Thread>>>);

impl Threads {
    /// Removes a thread that is released, unless another thread has its key by now.
    fn release(&self, key: &ThreadKey) {
        let mut threads = lock(&self.0);
        let is_gone = |thread: &Weak<Thread>| thread.strong_count() == 0;
        if threads.get(key).is_some_and(is_gone) {
            threads.remove(key);
        }
        if threads.capacity() > 64 && threads.len() < threads.capacity() / 4 {
            threads.shrink_to_fit();
        }
    }
}

/// A conversation.
#[derive(Debug)]
pub(crate) struct Thread {
    among: Arc<Threads>,
    pub(crate) key: ThreadKey,
    pub(crate) transcript: Mutex<KnownTranscript>,
    pub(crate) current: Mutex<CurrentTurn>,
}

/// A conversation as this process knows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownTranscript {
    pub(crate) transcript: Transcript,
    /// The last stored turn in the conversation.
    pub(crate) last: Option<RunId>,
}

impl Shared {
    pub(crate) fn new(
        setup: Setup,
        sources: Sources,
        registry: SharedRegistry,
        when_busy: WhenBusy,
    ) -> Self {
        Self {
            setup: Arc::new(setup),
            sources,
            registry,
            changed: Arc::default(),
            device: watch::Sender::default(),
            when_busy,
            threads: Arc::default(),
        }
    }

    /// Returns the setup of a turn that begins now.
    pub(crate) fn turn_setup(&self) -> Arc<Setup> {
        self.sources.add_to(&self.setup)
    }

    /// Returns the thread of this key. A new thread begins with `history`.
    pub(crate) fn thread(&self, key: ThreadKey, history: Transcript) -> Arc<Thread> {
        let mut threads = lock(&self.threads.0);
        if let Some(thread) = threads.get(&key).and_then(Weak::upgrade) {
            return thread;
        }
        let among = Arc::clone(&self.threads);
        let thread = Arc::new(Thread::new(among, key.clone(), history));
        threads.insert(key, Arc::downgrade(&thread));
        thread
    }

    pub(crate) fn cancel_all(&self) {
        // Dropping a thread takes the lock, so the lock is released first.
        let threads: Vec<_> = lock(&self.threads.0)
            .values()
            .filter_map(Weak::upgrade)
            .collect();
        for thread in threads {
            lock(&thread.current).cancel.cancel();
        }
    }

    pub(crate) fn forget(&self, key: &ThreadKey) {
        let thread = lock(&self.threads.0).remove(key);
        match thread.and_then(|thread| thread.upgrade()) {
            Some(thread) => {
                let current = lock(&thread.current);
                self.registry.remove(key);
                current.cancel.cancel();
            }
            // The thread is not in use, but may be unread.
            None => drop(self.registry.remove(key)),
        }
        self.changed.notify_one();
    }
}

impl Thread {
    fn new(among: Arc<Threads>, key: ThreadKey, history: Transcript) -> Self {
        let nobody = CurrentTurn::default();
        nobody.ended.cancel();
        Self {
            among,
            key,
            transcript: Mutex::new(KnownTranscript {
                transcript: history,
                last: None,
            }),
            current: Mutex::new(nobody),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.among.release(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Agent, HttpClient, SendError, provider};

    fn agent() -> Agent {
        let endpoint = provider::find("openai-compatible").unwrap();
        let endpoint = endpoint.endpoint(None, "any", Some("http://localhost/v1"), None);
        type Answer = http::Response<futures::stream::Empty<Result<bytes::Bytes, SendError>>>;
        let silent = HttpClient::from_fn(|_| std::future::pending::<Result<Answer, SendError>>());
        let agent = Agent::builder(endpoint.unwrap()).client(silent);
        agent.build().unwrap()
    }

    fn held(agent: &Agent) -> usize {
        lock(&agent.shared.threads.0).len()
    }

    #[test]
    fn releases_unused_threads() {
        let agent = agent();
        for number in 0..100_000 {
            let idle = agent.thread(format!("idle-{number}"));
            assert_eq!(idle.thread_id().as_str(), format!("idle-{number}"));
        }
        assert_eq!(held(&agent), 1, "the agent's own");
        let many: Vec<_> = (0..1000)
            .map(|number| agent.thread(number.to_string()))
            .collect();
        assert_eq!(held(&agent), 1001);
        drop(many);
        assert_eq!(held(&agent), 1);
        assert!(lock(&agent.shared.threads.0).capacity() < 100);
    }

    #[test]
    fn finds_a_thread_in_use_by_its_key() {
        let agent = agent();
        let id = "held".to_owned();
        let held_here = agent.thread(&id);
        let again = agent.thread(id.as_str());
        assert!(Arc::ptr_eq(&held_here.thread, &again.thread));
        drop(held_here);
        assert!(Arc::ptr_eq(&again.thread, &agent.thread(id.clone()).thread));
        // Another thread with the same key is not removed with it.
        agent.forget_thread(again.thread_key());
        let anew = agent.thread(id);
        drop(again);
        assert_eq!(held(&agent), 2);
        drop(anew);
        assert_eq!(held(&agent), 1);
    }

    #[tokio::test]
    async fn keeps_the_thread_of_a_turn_to_its_end() {
        let agent = agent();
        let turn = agent.thread("short").send("Hello");
        assert_eq!(held(&agent), 2);
        turn.cancel();
        turn.finish().await;
        assert_eq!(held(&agent), 1);
    }
}
