//! The threads of an agent, and which turn of each is the current one.

use crate::agent::sources::Sources;
use crate::agent::when_busy::WhenBusy;
use crate::app::device::Device;
use crate::app::setup::Setup;
use crate::base::lock;
use crate::turn::current::Current;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use stepwell_core::RunId;
use stepwell_core::conversation::Conversation;
use stepwell_core::registry::{SharedRegistry, ThreadKey};
use tokio::sync::{Notify, watch};

/// What all threads of an agent share.
pub(crate) struct Shared {
    /// Without the tools of the sources.
    pub(crate) setup: Arc<Setup>,
    sources: Sources,
    pub(crate) registry: SharedRegistry,
    /// Something happened that the registry has an event for.
    pub(crate) changed: Arc<Notify>,
    pub(crate) device: watch::Sender<Device>,
    pub(crate) when_busy: WhenBusy,
    threads: Arc<Threads>,
}

/// The threads that somebody holds: an [`Agent`](crate::Agent) on it, or a turn of it. With the last of these one is
/// released.
#[derive(Debug, Default)]
struct Threads(Mutex<HashMap<ThreadKey, Weak<Thread>>>);

impl Threads {
    /// Takes out a thread that is released, unless another one has its name by now.
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

/// One conversation.
#[derive(Debug)]
pub(crate) struct Thread {
    among: Arc<Threads>,
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

    /// What a turn that begins now is given.
    pub(crate) fn turn_setup(&self) -> Arc<Setup> {
        self.sources.add_to(&self.setup)
    }

    /// The thread of this key. A new one begins with `history`.
    pub(crate) fn thread(&self, key: ThreadKey, history: Conversation) -> Arc<Thread> {
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
        // A thread that is released here takes the lock itself.
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
            // Nobody holds it, but it may be unread.
            None => drop(self.registry.remove(key)),
        }
        self.changed.notify_one();
    }
}

impl Thread {
    fn new(among: Arc<Threads>, key: ThreadKey, history: Conversation) -> Self {
        let nobody = Current::default();
        nobody.ended.cancel();
        Self {
            among,
            key,
            conversation: Mutex::new(Known {
                conversation: history,
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
    fn a_thread_that_nobody_holds_is_released() {
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
    fn a_thread_that_is_held_is_the_same_under_its_key() {
        let agent = agent();
        let id = "held".to_owned();
        let held_here = agent.thread(&id);
        let again = agent.thread(id.as_str());
        assert!(Arc::ptr_eq(&held_here.thread, &again.thread));
        drop(held_here);
        assert!(Arc::ptr_eq(&again.thread, &agent.thread(id.clone()).thread));
        // Another one of its name is not taken out with it.
        agent.forget_thread(again.thread_key());
        let anew = agent.thread(id);
        drop(again);
        assert_eq!(held(&agent), 2);
        drop(anew);
        assert_eq!(held(&agent), 1);
    }

    #[tokio::test]
    async fn a_turn_holds_its_thread_until_its_end() {
        let agent = agent();
        let turn = agent.thread("short").send("Hello");
        assert_eq!(held(&agent), 2);
        turn.cancel();
        turn.finish().await;
        assert_eq!(held(&agent), 1);
    }
}
