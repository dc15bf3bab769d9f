//! The app's own store for languages whose code must run on the app's own event loop, such as Python: the app receives
//! a task, and answers it when the work is done, from any thread. An async trait would need one loop for the whole
//! process; a task goes to the loop that the app chooses, even if each of its threads, or each test, has one.

use super::{
    Claimed, EventLog, LoggedEvent, NewTurn, PersistBatch, Store, StoreError, ThreadQuery,
    ThreadRecord, TurnKey, Unfinished,
};
use crate::error::CallbackError;
use crate::session::TurnRecord;
use crate::task::{Reply, StopOnDrop, next_id};
use crate::thread_key::ThreadKey;
use std::sync::Arc;

/// Passes the calls of a store to the app's own event loop. The methods are called on Stepwell's threads; they should
/// hand the work on and return at once.
#[uniffi::export(foreign)]
pub trait StoreRunner: Send + Sync {
    /// Begins a call.
    fn run(&self, task: Arc<StoreTask>) -> Result<(), CallbackError>;
    /// Stops the task of this id: its answer is no longer wanted. Undo what the task has begun.
    fn cancel(&self, task: u64) -> Result<(), CallbackError>;
}

/// A request to a store: the methods of `Store`.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum StoreCall {
    /// Answer with `Generation`.
    BeginTurn {
        /// The turn.
        turn: NewTurn,
    },
    /// Answer with `Claimed`.
    Claim {
        /// The turn.
        turn: TurnKey,
        /// The expected generation of the turn.
        seen: u64,
        /// The new owner.
        owner: String,
    },
    /// Answer with `Done`.
    Persist {
        /// The turn.
        turn: TurnKey,
        /// The writer's generation.
        generation: u64,
        /// What to store.
        batch: PersistBatch,
    },
    /// Answer with `Unfinished`.
    Unfinished {
        /// The owner of the turns; all turns if absent.
        owner: Option<String>,
    },
    /// Answer with `Turn`.
    Turn {
        /// The turn.
        turn: TurnKey,
    },
    /// Answer with `Turns`.
    Turns {
        /// The thread.
        thread: ThreadKey,
    },
    /// Answer with `Thread`.
    Thread {
        /// The thread.
        thread: ThreadKey,
    },
    /// Answer with `Threads`.
    Threads {
        /// The threads to list.
        query: ThreadQuery,
    },
    /// Answer with `Done`.
    RenameThread {
        /// The thread.
        thread: ThreadKey,
        /// The new title.
        title: String,
    },
    /// Answer with `Deleted`.
    DeleteThread {
        /// The thread.
        thread: ThreadKey,
    },
    /// Answer with `Done`.
    AppendEvents {
        /// The turn.
        turn: TurnKey,
        /// The writer's generation.
        generation: u64,
        /// The index of the first event.
        first: u64,
        /// The events.
        events: Vec<String>,
    },
    /// Answer with `Events`.
    Events {
        /// The turn.
        turn: TurnKey,
        /// The event after which to begin.
        after: Option<u64>,
        /// The maximum number of events.
        limit: u32,
    },
    /// Answer with `EventLog`.
    EventLog {
        /// The turn.
        turn: TurnKey,
    },
    /// Answer with `Done`.
    Acknowledge {
        /// The turn.
        turn: TurnKey,
        /// The last event that the user has seen.
        index: u64,
    },
}

/// The answer of a store.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum StoreAnswer {
    /// The generation of a turn that began.
    Generation {
        /// The generation.
        generation: u64,
    },
    /// A turn that was claimed.
    Claimed {
        /// The turn.
        claimed: Claimed,
    },
    /// It is done.
    Done,
    /// The unfinished turns.
    Unfinished {
        /// The turns.
        turns: Vec<Unfinished>,
    },
    /// A turn, if there is one.
    Turn {
        /// The turn.
        turn: Option<TurnRecord>,
    },
    /// Turns.
    Turns {
        /// The turns.
        turns: Vec<TurnRecord>,
    },
    /// A thread, if there is one.
    Thread {
        /// The thread.
        thread: Option<ThreadRecord>,
    },
    /// Threads.
    Threads {
        /// The threads.
        threads: Vec<ThreadRecord>,
    },
    /// Whether there was a thread.
    Deleted {
        /// Whether there was one.
        deleted: bool,
    },
    /// Events of a log.
    Events {
        /// The events.
        events: Vec<LoggedEvent>,
    },
    /// How long a log is.
    EventLog {
        /// The log.
        log: EventLog,
    },
}

/// A call of the app's store for the app to carry out. A task that is dropped without an answer counts as failed.
#[derive(Debug, uniffi::Object)]
pub struct StoreTask {
    id: u64,
    call: StoreCall,
    reply: Reply<Result<StoreAnswer, StoreError>>,
}

#[uniffi::export]
impl StoreTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the call.
    pub fn call(&self) -> StoreCall {
        self.call.clone()
    }

    /// Answers the call. Returns whether the answer was still wanted.
    pub fn finish(&self, answer: StoreAnswer) -> bool {
        self.reply.give(Ok(answer))
    }

    /// Fails the call. Returns whether the answer was still wanted.
    pub fn fail(&self, error: StoreError) -> bool {
        self.reply.give(Err(error))
    }
}

/// The app's event loop, as a store.
pub(super) struct Queue(pub(super) Arc<dyn StoreRunner>);

impl Queue {
    async fn ask(&self, call: StoreCall) -> Result<StoreAnswer, StoreError> {
        let (reply, answer) = Reply::new();
        let id = next_id();
        let task = Arc::new(StoreTask { id, call, reply });
        let runner = Arc::clone(&self.0);
        let mut stop = StopOnDrop::new(move || runner.cancel(id));
        let other = |reason: String| Err(StoreError::Other { reason });
        let answered = match self.0.run(task) {
            Ok(()) => answer
                .await
                .unwrap_or_else(|_| other("the call ended without an answer".to_owned())),
            Err(error) => other(error.to_string()),
        };
        stop.disarm();
        answered
    }

    async fn done(&self, call: StoreCall) -> Result<(), StoreError> {
        match self.ask(call).await? {
            StoreAnswer::Done => Ok(()),
            other => Err(misfit(&other)),
        }
    }
}

/// Returns the error of an answer to another question, which is the app's mistake.
fn misfit(answer: &StoreAnswer) -> StoreError {
    let text = format!("{answer:?}");
    let answer = text.split(|c: char| !c.is_alphanumeric()).next();
    let answer = answer.unwrap_or_default();
    StoreError::Refused {
        reason: format!("the app's store gave `{answer}`, which is no answer to this call"),
    }
}

#[async_trait::async_trait]
impl Store for Queue {
    async fn begin_turn(&self, turn: NewTurn) -> Result<u64, StoreError> {
        match self.ask(StoreCall::BeginTurn { turn }).await? {
            StoreAnswer::Generation { generation } => Ok(generation),
            other => Err(misfit(&other)),
        }
    }

    async fn claim(&self, turn: TurnKey, seen: u64, owner: String) -> Result<Claimed, StoreError> {
        match self.ask(StoreCall::Claim { turn, seen, owner }).await? {
            StoreAnswer::Claimed { claimed } => Ok(claimed),
            other => Err(misfit(&other)),
        }
    }

    async fn persist(
        &self,
        turn: TurnKey,
        generation: u64,
        batch: PersistBatch,
    ) -> Result<(), StoreError> {
        self.done(StoreCall::Persist {
            turn,
            generation,
            batch,
        })
        .await
    }

    async fn unfinished(&self, owner: Option<String>) -> Result<Vec<Unfinished>, StoreError> {
        match self.ask(StoreCall::Unfinished { owner }).await? {
            StoreAnswer::Unfinished { turns } => Ok(turns),
            other => Err(misfit(&other)),
        }
    }

    async fn turn(&self, turn: TurnKey) -> Result<Option<TurnRecord>, StoreError> {
        match self.ask(StoreCall::Turn { turn }).await? {
            StoreAnswer::Turn { turn } => Ok(turn),
            other => Err(misfit(&other)),
        }
    }

    async fn turns(&self, thread: ThreadKey) -> Result<Vec<TurnRecord>, StoreError> {
        match self.ask(StoreCall::Turns { thread }).await? {
            StoreAnswer::Turns { turns } => Ok(turns),
            other => Err(misfit(&other)),
        }
    }

    async fn thread(&self, thread: ThreadKey) -> Result<Option<ThreadRecord>, StoreError> {
        match self.ask(StoreCall::Thread { thread }).await? {
            StoreAnswer::Thread { thread } => Ok(thread),
            other => Err(misfit(&other)),
        }
    }

    async fn threads(&self, query: ThreadQuery) -> Result<Vec<ThreadRecord>, StoreError> {
        match self.ask(StoreCall::Threads { query }).await? {
            StoreAnswer::Threads { threads } => Ok(threads),
            other => Err(misfit(&other)),
        }
    }

    async fn rename_thread(&self, thread: ThreadKey, title: String) -> Result<(), StoreError> {
        self.done(StoreCall::RenameThread { thread, title }).await
    }

    async fn delete_thread(&self, thread: ThreadKey) -> Result<bool, StoreError> {
        match self.ask(StoreCall::DeleteThread { thread }).await? {
            StoreAnswer::Deleted { deleted } => Ok(deleted),
            other => Err(misfit(&other)),
        }
    }

    async fn append_events(
        &self,
        turn: TurnKey,
        generation: u64,
        first: u64,
        events: Vec<String>,
    ) -> Result<(), StoreError> {
        self.done(StoreCall::AppendEvents {
            turn,
            generation,
            first,
            events,
        })
        .await
    }

    async fn events(
        &self,
        turn: TurnKey,
        after: Option<u64>,
        limit: u32,
    ) -> Result<Vec<LoggedEvent>, StoreError> {
        match self.ask(StoreCall::Events { turn, after, limit }).await? {
            StoreAnswer::Events { events } => Ok(events),
            other => Err(misfit(&other)),
        }
    }

    async fn event_log(&self, turn: TurnKey) -> Result<EventLog, StoreError> {
        match self.ask(StoreCall::EventLog { turn }).await? {
            StoreAnswer::EventLog { log } => Ok(log),
            other => Err(misfit(&other)),
        }
    }

    async fn acknowledge(&self, turn: TurnKey, index: u64) -> Result<(), StoreError> {
        self.done(StoreCall::Acknowledge { turn, index }).await
    }
}
