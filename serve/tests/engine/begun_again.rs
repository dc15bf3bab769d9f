//! A request to begin a turn that is late: the client did not wait, and has begun the turn on another host meanwhile.

use crate::engine::tests::{engine_on, new_turn};
use crate::engine::{Engine, EngineError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::TurnStatus;
use stepwell_io::store::{
    EventLog, EventStore, Generation, MemoryStore, NewTurn, PersistBatch, StoreError, StoreFuture,
    StoreLayer, ThreadRecord, TurnKey, TurnStore,
};

/// The last read of a host before it froze.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    /// The read found no such turn.
    NoTurn,
    /// The read found no turn of the thread under way.
    NothingUnderWay,
}

/// A host that is frozen once it has seen this, for as long as what happens on others takes.
#[derive(Debug)]
struct Late {
    inner: MemoryStore,
    /// The turn that is under way when the host continues; it may be the next of the thread.
    under_way: TurnKey,
    seen: Seen,
    was_frozen: AtomicBool,
}

impl Late {
    async fn has_seen(&self, seen: Seen) {
        if seen != self.seen || self.was_frozen.swap(true, Ordering::Relaxed) {
            return;
        }
        let new = new_turn();
        let asked = &TurnKey::new(new.thread, new.turn);
        let new = NewTurn::new(asked.clone(), "other", Timestamp(1));
        self.inner.begin_turn(&new).await.unwrap();
        if *asked != self.under_way {
            let end = PersistBatch {
                first: 0,
                blocks: Vec::new(),
                status: TurnStatus::Complete,
                outcome: None,
                checkpoint: String::new(),
                at: Timestamp(2),
                first_event: 0,
                events: Vec::new(),
            };
            let ended = self.inner.persist(asked, Generation::FIRST, &end);
            ended.await.unwrap();
            let new = NewTurn::new(self.under_way.clone(), "other", Timestamp(3));
            self.inner.begin_turn(&new).await.unwrap();
        }
    }
}

impl StoreLayer for Late {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.inner
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        Box::pin(async move {
            let found = EventStore::event_log(&self.inner, turn).await;
            self.has_seen(Seen::NoTurn).await;
            found
        })
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        Box::pin(async move {
            let found = TurnStore::thread(&self.inner, thread).await?;
            self.has_seen(Seen::NothingUnderWay).await;
            Ok(found)
        })
    }
}

async fn a_late_request_cancels_nothing(under_way: TurnKey) {
    for seen in [Seen::NoTurn, Seen::NothingUnderWay] {
        let inner = MemoryStore::new();
        let store = Late {
            inner: inner.clone(),
            under_way: under_way.clone(),
            seen,
            was_frozen: AtomicBool::default(),
        };
        let (_model, engine) = engine_on(Arc::new(store), Duration::ZERO).await;
        let begun = engine.start(new_turn()).await;
        assert!(
            matches!(begun, Err(EngineError::Store(StoreError::Exists { .. }))),
            "{seen:?}: {begun:?}"
        );
        let turn = inner.turn(&under_way).await.unwrap().unwrap();
        assert_eq!(turn.status, TurnStatus::Streaming, "{seen:?}");
    }
}

#[tokio::test]
async fn a_request_that_comes_late_does_not_cancel_the_turn_that_it_was_for() {
    let new = new_turn();
    a_late_request_cancels_nothing(TurnKey::new(new.thread, new.turn)).await;
}

#[tokio::test]
async fn a_request_that_comes_late_does_not_cancel_the_turn_after_its_own() {
    a_late_request_cancels_nothing(TurnKey::new(new_turn().thread, "next")).await;
}
