//! The threads of an agent's conversations, and the current turn of each.

use crate::base::lock;
use crate::durable::StoreSetup;
use crate::store::Lease;
use crate::turn::current::CurrentTurn;
use crate::turn::handle::Command;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use stepwell_core::RunId;
use stepwell_core::registry::{SharedRegistry, ThreadKey};
use stepwell_core::transcript::Transcript;
use tokio::sync::{Notify, mpsc};

/// The threads that are in use, of one agent and one store: the app holds a
/// [`Conversation`](crate::Conversation) on the thread, or a turn of it is under way. A thread is released with the
/// last of these.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// The store of the threads; `None` for threads in memory.
    pub(crate) stored: Option<StoreSetup>,
    by_key: Mutex<HashMap<ThreadKey, Weak<Thread>>>,
    /// The lease under which this process listens to others.
    pub(crate) listening: Mutex<Weak<Lease>>,
}

/// What a conversation remembers.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) among: Arc<Threads>,
    pub(crate) key: ThreadKey,
    pub(crate) known: Mutex<KnownTranscript>,
    pub(crate) current: Mutex<CurrentTurn>,
    /// Held by the turn that is the next to have the thread: turns that wait have it in their order.
    pub(crate) line: tokio::sync::Mutex<()>,
    pub(crate) registration: Registration,
    is_for_one_turn: bool,
}

/// A transcript as this process knows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownTranscript {
    pub(crate) transcript: Transcript,
    /// The last stored turn in the transcript.
    pub(crate) last: Option<RunId>,
}

/// The registry that knows the turns of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registration {
    pub(crate) registry: SharedRegistry,
    /// Notified when the registry may have an event.
    pub(crate) changed: Arc<Notify>,
    /// Whether the registry keeps a thread that is released, for its unread mark.
    pub(crate) keeps_unread: bool,
}

impl Threads {
    pub(crate) fn new(stored: Option<StoreSetup>) -> Self {
        Self {
            stored,
            by_key: Mutex::default(),
            listening: Mutex::default(),
        }
    }

    /// Returns the thread of this key, or a new one.
    pub(crate) fn find(
        self: &Arc<Self>,
        key: ThreadKey,
        registration: &Registration,
    ) -> Arc<Thread> {
        let mut threads = lock(&self.by_key);
        if let Some(thread) = threads.get(&key).and_then(Weak::upgrade) {
            return thread;
        }
        let thread = Arc::new(Thread::new(
            Arc::clone(self),
            key.clone(),
            registration.clone(),
        ));
        threads.insert(key, Arc::downgrade(&thread));
        thread
    }

    /// Removes a thread that is released, unless another thread has its key by now.
    fn release(
        &self,
        Thread {
            key, registration, ..
        }: &Thread,
    ) {
        let mut threads = lock(&self.by_key);
        let is_gone = |thread: &Weak<Thread>| thread.strong_count() == 0;
        if threads.get(key).is_some_and(is_gone) {
            threads.remove(key);
            // Under the lock: no new thread of this key has registered a turn yet.
            if !registration.keeps_unread {
                registration.registry.remove(key);
            }
        }
        if threads.capacity() > 64 && threads.len() < threads.capacity() / 4 {
            threads.shrink_to_fit();
        }
    }

    /// Returns the commands of the turn that is under way on a thread.
    pub(crate) fn commands(&self, key: &ThreadKey) -> Option<mpsc::Sender<Command>> {
        let thread = lock(&self.by_key).get(key)?.upgrade()?;
        thread.commands()
    }

    /// Removes a thread: the next conversation of its key begins anew.
    pub(crate) fn forget(&self, key: &ThreadKey) {
        lock(&self.by_key).remove(key);
    }

    #[cfg(test)]
    pub(crate) fn sizes(&self) -> (usize, usize) {
        let threads = lock(&self.by_key);
        (threads.len(), threads.capacity())
    }
}

impl Thread {
    fn new(among: Arc<Threads>, key: ThreadKey, registration: Registration) -> Self {
        let no_turn = CurrentTurn::default();
        no_turn.ended.cancel();
        Self {
            among,
            key,
            known: Mutex::default(),
            current: Mutex::new(no_turn),
            line: tokio::sync::Mutex::default(),
            registration,
            is_for_one_turn: false,
        }
    }

    /// Returns the commands of the turn that is under way.
    pub(crate) fn commands(&self) -> Option<mpsc::Sender<Command>> {
        lock(&self.current).commands.as_ref()?.upgrade()
    }

    /// Returns whether the thread is that of a run without a conversation.
    pub(crate) fn is_for_one_turn(&self) -> bool {
        self.is_for_one_turn
    }

    /// Returns a thread for one turn, which no other turn finds, and which is in no store.
    pub(crate) fn for_one_turn(key: ThreadKey) -> Arc<Self> {
        let mut thread = Self::new(Arc::default(), key, Registration::default());
        thread.is_for_one_turn = true;
        Arc::new(thread)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.among.release(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::SendError;
    use crate::{Agent, HttpClient, Model};

    fn agent() -> Agent {
        type Answer = http::Response<futures::stream::Empty<Result<bytes::Bytes, SendError>>>;
        let silent = HttpClient::from_fn(|_| std::future::pending::<Result<Answer, SendError>>());
        let model = Model::openai_compatible("any", "http://localhost/v1");
        let agent = Agent::builder(model).client(silent);
        agent.build().unwrap()
    }

    fn held(agent: &Agent) -> usize {
        agent.parts.threads.sizes().0
    }

    #[test]
    fn releases_unused_threads() {
        let agent = agent();
        for number in 0..100_000 {
            let id = format!("idle-{number}");
            assert_eq!(agent.conversation(id.as_str()).id().as_str(), id);
        }
        assert_eq!(held(&agent), 0);
        let many: Vec<_> = (0..1000)
            .map(|number| agent.conversation(number.to_string()))
            .collect();
        assert_eq!(held(&agent), 1000);
        drop(many);
        let (held, capacity) = agent.parts.threads.sizes();
        assert_eq!(held, 0);
        assert!(capacity < 100, "{capacity}");
    }

    #[test]
    fn finds_a_thread_in_use_by_its_key() {
        let agent = agent();
        let thread = || Arc::clone(&agent.conversation("held").runner.thread);
        let held_here = agent.conversation("held");
        let again = thread();
        assert!(Arc::ptr_eq(&held_here.runner.thread, &again));
        drop(held_here);
        assert!(Arc::ptr_eq(&again, &thread()));
        // Another thread with the same key is not removed with it.
        agent.conversation("held").forget();
        let new = thread();
        assert!(!Arc::ptr_eq(&again, &new));
        drop(again);
        assert_eq!(held(&agent), 1);
        drop(new);
        assert_eq!(held(&agent), 0);
    }

    #[tokio::test]
    async fn keeps_the_thread_of_a_turn_to_its_end() {
        let agent = agent();
        let turn = agent.conversation("short").stream("Hello").into_events();
        assert_eq!(held(&agent), 1);
        turn.cancel();
        turn.finish().await;
        assert_eq!(held(&agent), 0);
        assert_eq!(agent.registry().running(), []);
    }

    #[tokio::test]
    async fn runs_without_a_conversation_have_no_shared_thread() {
        let agent = agent();
        let (run, turn) = (agent.run("Hello"), agent.stream("Hello"));
        assert_eq!(agent.parts.threads.sizes(), (0, 0));
        assert_eq!(agent.registry().running(), []);
        drop((run, turn));
    }
}
