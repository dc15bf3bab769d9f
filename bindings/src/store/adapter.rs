//! The app's own store, as Stepwell's.

use super::Store;
use super::record::turn_of;
use futures::FutureExt;
use std::fmt;
use std::sync::Arc;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;
use stepwell_io::store::{
    Changes, Claimed, EventLog, EventStore, Generation, LoggedEvent, NewTurn, PersistBatch,
    StoreError, StoreFuture, ThreadQuery, ThreadRecord, ThreadStore, TurnKey, TurnStore,
    Unfinished, Wakers, check,
};

/// Adapts the app's store. No lock is held while the app's code runs. What every store refuses is refused here. Clients
/// that follow a thread are woken only by changes of this process.
pub(super) struct AppStore {
    store: Arc<dyn Store>,
    wakers: Wakers,
}

impl AppStore {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            wakers: Wakers::default(),
        }
    }
}

impl fmt::Debug for AppStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppStore").finish_non_exhaustive()
    }
}

impl TurnStore for AppStore {
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        async move {
            check::new_turn(turn)?;
            let generation = self.store.begin_turn(turn.clone().into()).await?;
            self.wakers.wake(&turn.key.thread);
            Ok(Generation(generation))
        }
        .boxed()
    }

    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        async move {
            check::owner(owner)?;
            let claim = self
                .store
                .claim(turn.clone().into(), seen.0, owner.to_owned());
            let claimed = claim.await?;
            self.wakers.wake(&turn.thread);
            Ok(claimed.into())
        }
        .boxed()
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        async move {
            check::batch(batch)?;
            let key = turn.clone().into();
            let batch = batch.clone().into();
            self.store.persist(key, generation.0, batch).await?;
            self.wakers.wake(&turn.thread);
            Ok(())
        }
        .boxed()
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        async move {
            let unfinished = self.store.unfinished(owner.map(str::to_owned)).await?;
            Ok(unfinished.into_iter().map(Into::into).collect())
        }
        .boxed()
    }

    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        async move {
            let record = self.store.turn(turn.clone().into()).await?;
            record.map(turn_of).transpose()
        }
        .boxed()
    }

    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        async move {
            let mut turns = self.turns(&turn.thread).await?;
            let mut path = Vec::new();
            let mut next = Some(turn.turn.clone());
            while let Some(id) = next {
                let Some(place) = turns.iter().position(|turn| turn.id == id) else {
                    return Err(StoreError::NoTurn { turn: id });
                };
                // Each turn is taken once, so that a cycle ends.
                let turn = turns.swap_remove(place);
                next = turn.parent.clone();
                path.push(turn);
            }
            path.reverse();
            Ok(path)
        }
        .boxed()
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        async move {
            let record = self.store.thread(thread.clone().into()).await?;
            Ok(record.map(Into::into))
        }
        .boxed()
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        async move {
            let deleted = self.store.delete_thread(thread.clone().into()).await?;
            self.wakers.wake(thread);
            Ok(deleted)
        }
        .boxed()
    }
}

impl ThreadStore for AppStore {
    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        async move {
            let records = self.store.threads(query.clone().into()).await?;
            Ok(records.into_iter().map(Into::into).collect())
        }
        .boxed()
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        async move {
            check::title(title)?;
            let key = thread.clone().into();
            self.store.rename_thread(key, title.to_owned()).await?;
            self.wakers.wake(thread);
            Ok(())
        }
        .boxed()
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        async move {
            let turns = self.store.turns(thread.clone().into()).await?;
            turns.into_iter().map(turn_of).collect()
        }
        .boxed()
    }
}

impl EventStore for AppStore {
    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        async move {
            check::events(events)?;
            let key = turn.clone().into();
            let events = events.to_vec();
            self.store
                .append_events(key, generation.0, first, events)
                .await?;
            self.wakers.wake(&turn.thread);
            Ok(())
        }
        .boxed()
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        async move {
            let limit = u32::try_from(limit).unwrap_or(u32::MAX);
            let events = self.store.events(turn.clone().into(), after, limit).await?;
            Ok(events.into_iter().map(Into::into).collect())
        }
        .boxed()
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        async move { Ok(self.store.event_log(turn.clone().into()).await?.into()) }.boxed()
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        async move { Ok(self.store.acknowledge(turn.clone().into(), index).await?) }.boxed()
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        async move { Ok(self.wakers.subscribe(thread)) }.boxed()
    }
}
