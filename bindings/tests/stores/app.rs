//! An app's store, by both interfaces: its arguments go through the boundary's records to a store in memory, and back.

use async_trait::async_trait;
use std::sync::Arc;
use stepwell_core::registry;
use stepwell_core::run::Block;
use stepwell_ffi::{
    CallbackError, Claimed, EventLog, LoggedEvent, NewTurn, PersistBatch, SessionStore, Store,
    StoreAnswer, StoreCall, StoreError, StoreRunner, StoreTask, ThreadKey, ThreadQuery,
    ThreadRecord, TurnKey, TurnRecord, TurnStatus, Unfinished,
};
use stepwell_io::store::{
    self, EventStore as _, Generation, MemoryStore, ThreadStore as _, TurnStore as _,
};

/// The app's database.
#[derive(Clone, Debug, Default)]
pub(crate) struct AppDatabase(MemoryStore);

pub(crate) fn store() -> Arc<SessionStore> {
    SessionStore::of_app(Arc::new(AppDatabase::default()))
}

pub(crate) fn runner_store() -> Arc<SessionStore> {
    SessionStore::with_store_runner(Arc::new(AppLoop(AppDatabase::default())))
}

fn new_turn(new: NewTurn) -> store::NewTurn {
    store::NewTurn {
        key: new.key.into(),
        parent: new.parent.map(Into::into),
        message: new
            .message
            .map(|json| serde_json::from_str(json.as_str()).unwrap()),
        history: new
            .history
            .map(|json| serde_json::from_str(json.as_str()).unwrap()),
        checkpoint: new.checkpoint,
        owner: new.owner,
        title: new.title,
        at: new.at.into(),
    }
}

fn batch(batch: PersistBatch) -> store::PersistBatch {
    let block = |block: stepwell_ffi::Block| Block {
        sequence: block.sequence,
        hop: block.hop,
        content: serde_json::from_str(block.content.as_str()).unwrap(),
    };
    store::PersistBatch {
        first: batch.first,
        blocks: batch.blocks.into_iter().map(block).collect(),
        status: TurnStatus::into(batch.status),
        outcome: batch
            .outcome
            .map(|json| serde_json::from_str(json.as_str()).unwrap()),
        checkpoint: batch.checkpoint,
        at: batch.at.into(),
        first_event: batch.first_event,
        events: batch.events,
    }
}

fn core(thread: ThreadKey) -> registry::ThreadKey {
    thread.into()
}

#[async_trait]
impl Store for AppDatabase {
    async fn begin_turn(&self, turn: NewTurn) -> Result<u64, StoreError> {
        Ok(self.0.begin_turn(&new_turn(turn)).await?.0)
    }

    async fn claim(&self, turn: TurnKey, seen: u64, owner: String) -> Result<Claimed, StoreError> {
        let claimed = self.0.claim(&turn.into(), Generation(seen), &owner).await?;
        Ok(Claimed {
            generation: claimed.generation.0,
            checkpoint: claimed.checkpoint,
        })
    }

    async fn persist(
        &self,
        turn: TurnKey,
        generation: u64,
        given: PersistBatch,
    ) -> Result<(), StoreError> {
        let (turn, generation) = (turn.into(), Generation(generation));
        Ok(self.0.persist(&turn, generation, &batch(given)).await?)
    }

    async fn unfinished(&self, owner: Option<String>) -> Result<Vec<Unfinished>, StoreError> {
        let turns = self.0.unfinished(owner.as_deref()).await?;
        Ok(turns.into_iter().map(Into::into).collect())
    }

    async fn turn(&self, turn: TurnKey) -> Result<Option<TurnRecord>, StoreError> {
        Ok(self.0.turn(&turn.into()).await?.map(Into::into))
    }

    async fn turns(&self, thread: ThreadKey) -> Result<Vec<TurnRecord>, StoreError> {
        let turns = self.0.turns(&core(thread)).await?;
        Ok(turns.into_iter().map(Into::into).collect())
    }

    async fn thread(&self, thread: ThreadKey) -> Result<Option<ThreadRecord>, StoreError> {
        Ok(self.0.thread(&core(thread)).await?.map(Into::into))
    }

    async fn threads(&self, query: ThreadQuery) -> Result<Vec<ThreadRecord>, StoreError> {
        let threads = self.0.threads(&query.into()).await?;
        Ok(threads.into_iter().map(Into::into).collect())
    }

    async fn rename_thread(&self, thread: ThreadKey, title: String) -> Result<(), StoreError> {
        Ok(self.0.rename_thread(&core(thread), &title).await?)
    }

    async fn delete_thread(&self, thread: ThreadKey) -> Result<bool, StoreError> {
        Ok(self.0.delete_thread(&core(thread)).await?)
    }

    async fn append_events(
        &self,
        turn: TurnKey,
        generation: u64,
        first: u64,
        events: Vec<String>,
    ) -> Result<(), StoreError> {
        let generation = Generation(generation);
        let append = self
            .0
            .append_events(&turn.into(), generation, first, &events)
            .await;
        Ok(append?)
    }

    async fn events(
        &self,
        turn: TurnKey,
        after: Option<u64>,
        limit: u32,
    ) -> Result<Vec<LoggedEvent>, StoreError> {
        let limit = usize::try_from(limit).unwrap();
        let events = self.0.events(&turn.into(), after, limit).await?;
        let event = |event: store::LoggedEvent| LoggedEvent {
            index: event.index,
            data: event.data,
        };
        Ok(events.into_iter().map(event).collect())
    }

    async fn event_log(&self, turn: TurnKey) -> Result<EventLog, StoreError> {
        let log = self.0.event_log(&turn.into()).await?;
        Ok(EventLog {
            next: log.next,
            acknowledged: log.acknowledged,
        })
    }

    async fn acknowledge(&self, turn: TurnKey, index: u64) -> Result<(), StoreError> {
        Ok(self.0.acknowledge(&turn.into(), index).await?)
    }
}

/// The app's event loop: carries out the tasks in parallel.
pub(crate) struct AppLoop(pub(crate) AppDatabase);

impl StoreRunner for AppLoop {
    fn run(&self, task: Arc<StoreTask>) -> Result<(), CallbackError> {
        let database = self.0.clone();
        tokio::spawn(async move {
            match answer(&database, task.call()).await {
                Ok(answer) => task.finish(answer),
                Err(error) => task.fail(error),
            }
        });
        Ok(())
    }

    /// Work that has begun is completed: a late write is refused by its generation.
    fn cancel(&self, _task: u64) -> Result<(), CallbackError> {
        Ok(())
    }
}

async fn answer(database: &AppDatabase, call: StoreCall) -> Result<StoreAnswer, StoreError> {
    Ok(match call {
        StoreCall::BeginTurn { turn } => StoreAnswer::Generation {
            generation: database.begin_turn(turn).await?,
        },
        StoreCall::Claim { turn, seen, owner } => StoreAnswer::Claimed {
            claimed: database.claim(turn, seen, owner).await?,
        },
        StoreCall::Persist {
            turn,
            generation,
            batch,
        } => {
            database.persist(turn, generation, batch).await?;
            StoreAnswer::Done
        }
        StoreCall::Unfinished { owner } => StoreAnswer::Unfinished {
            turns: database.unfinished(owner).await?,
        },
        StoreCall::Turn { turn } => StoreAnswer::Turn {
            turn: database.turn(turn).await?,
        },
        StoreCall::Turns { thread } => StoreAnswer::Turns {
            turns: database.turns(thread).await?,
        },
        StoreCall::Thread { thread } => StoreAnswer::Thread {
            thread: database.thread(thread).await?,
        },
        StoreCall::Threads { query } => StoreAnswer::Threads {
            threads: database.threads(query).await?,
        },
        StoreCall::RenameThread { thread, title } => {
            database.rename_thread(thread, title).await?;
            StoreAnswer::Done
        }
        StoreCall::DeleteThread { thread } => StoreAnswer::Deleted {
            deleted: database.delete_thread(thread).await?,
        },
        StoreCall::AppendEvents {
            turn,
            generation,
            first,
            events,
        } => {
            database
                .append_events(turn, generation, first, events)
                .await?;
            StoreAnswer::Done
        }
        StoreCall::Events { turn, after, limit } => StoreAnswer::Events {
            events: database.events(turn, after, limit).await?,
        },
        StoreCall::EventLog { turn } => StoreAnswer::EventLog {
            log: database.event_log(turn).await?,
        },
        StoreCall::Acknowledge { turn, index } => {
            database.acknowledge(turn, index).await?;
            StoreAnswer::Done
        }
    })
}
