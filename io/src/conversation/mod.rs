//! A conversation: what an agent and a user have said, and the turn under way.

mod load;
mod resend;

use crate::answer::output::Output;
use crate::base::lock;
use crate::durable::in_time;
use crate::error::Error;
use crate::run::Run;
use crate::run::turn::Turn;
use crate::start::runner::Runner;
use std::fmt;
use std::marker::PhantomData;
use stepwell_core::ThreadId;
use stepwell_core::event::MessageContent;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::Start;
use stepwell_core::transcript::Transcript;

/// A conversation with an agent: what is remembered between prompts. [`Agent::conversation`](crate::Agent::conversation)
/// returns it; clones are the same conversation.
///
/// # One turn at a time
/// A message that is sent while a turn of the conversation is under way fails with
/// [`ErrorKind::Busy`](crate::ErrorKind::Busy), and changes nothing; [`Run::when_busy`] says otherwise. Turns of
/// different conversations do not affect each other.
///
/// # Lifetime
/// A conversation lives while the app holds it, or a turn of it is under way. Then its memory is freed; with a
/// [store](crate::AgentBuilder::store) it continues from there at any time.
pub struct Conversation<T = String> {
    pub(crate) runner: Runner,
    output: PhantomData<fn() -> T>,
}

impl<T> Clone for Conversation<T> {
    fn clone(&self) -> Self {
        Self::new(self.runner.clone())
    }
}

impl<T> fmt::Debug for Conversation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("key", self.key())
            .finish_non_exhaustive()
    }
}

impl<T> Conversation<T> {
    pub(crate) fn new(runner: Runner) -> Self {
        Self {
            runner,
            output: PhantomData,
        }
    }

    /// Begins with an earlier transcript. A conversation that has had a turn, here or in its store, keeps its own.
    #[must_use]
    pub fn with_history(self, history: impl Into<Transcript>) -> Self {
        self.runner.set_history(history.into());
        self
    }

    /// Returns the conversation's id.
    #[must_use]
    pub fn id(&self) -> &ThreadId {
        &self.key().thread
    }

    /// Returns the conversation's id, with its server and room.
    #[must_use]
    pub fn key(&self) -> &ThreadKey {
        &self.runner.thread.key
    }

    /// Returns the transcript as of the last turn of this process; [`load`](Self::load) reads that of the store.
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        self.runner.transcript()
    }

    /// Cancels the turn that is under way, if there is one.
    pub fn cancel(&self) {
        lock(&self.runner.thread.current).cancel.cancel();
    }

    /// Cancels the turn that is under way, if there is one, and forgets the transcript and the entry in the
    /// [registry](crate::Agent::registry). What the store has of the conversation stays there. The handle should not
    /// be used any more.
    pub fn forget(&self) {
        let thread = &self.runner.thread;
        thread.among.forget(&thread.key);
        let registration = &thread.registration;
        {
            let current = lock(&thread.current);
            registration.registry.remove(&thread.key);
            current.cancel.cancel();
        }
        registration.changed.notify_one();
    }

    /// Forgets the conversation, as [`forget`](Self::forget) does, and deletes it from its store with all its turns.
    /// Returns whether the store had the conversation; `false` without a store.
    ///
    /// # Errors
    /// The store cannot be written: the conversation is forgotten here, and still stored.
    pub async fn delete(&self) -> Result<bool, Error> {
        self.forget();
        match self.runner.stored() {
            Some(stored) => Ok(in_time(stored.store.delete_thread(self.key())).await?),
            None => Ok(false),
        }
    }
}

impl<T: Output> Conversation<T> {
    /// Sends a message: a text, or texts and [media](crate::media) in order. The returned [`Run`] is a future, as that
    /// of [`Agent::run`](crate::Agent::run) is.
    ///
    /// ```no_run
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), stepwell_io::Error> {
    /// let conversation = agent.conversation("alice/1");
    /// let result = conversation.send("I am Alice.").await?;
    /// println!("{}", result.output);
    /// # Ok(())
    /// # }
    /// ```
    pub fn send(&self, prompt: impl Into<MessageContent>) -> Run<T> {
        Run::new(self.runner.clone(), prompt.into())
    }

    /// Sends a message, and returns the turn under way, with its updates.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn stream(&self, prompt: impl Into<MessageContent>) -> Turn<T> {
        self.send(prompt).stream()
    }

    /// Starts a turn with ids and a message that the app provides, or with the answers to what an AG-UI agent asked at
    /// the end of an earlier turn.
    pub fn start(&self, start: Start) -> Run<T> {
        Run::of_start(self.runner.clone(), start)
    }
}
