//! The results of a turn that are stored, and the stored answers of its user. They are reported only once they are
//! stored: a kill could otherwise lose what the client has seen, and neither the tool nor the user may be asked again.

use crate::turn::brought::{Brought, in_checkpoint};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::event::Message;
use stepwell_core::run::{Block, BlockContent, EffectId};
use stepwell_core::transcript::Compaction;
use stepwell_core::{CallKey, ToolCallId};
use stepwell_io::store::{
    Claimed, Generation, NewTurn, PersistBatch, Store, StoreError, StoreFuture, StoreLayer, TurnKey,
};
use tokio::sync::oneshot;

/// A fact of a turn that is reported once it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fact {
    /// The result of a call.
    Result(ToolCallId),
    /// The user's answer to a call that asked to run, or to a running tool.
    Answer(EffectId),
    /// The call is over: what it asked waits for no answer, the user may have been too late.
    Over(CallKey),
    /// The conversation was compacted in this way.
    Compacted(Compaction),
}

impl Fact {
    /// Returns whether these stored facts settle this one.
    fn is_in(&self, stored: &HashSet<Self>) -> bool {
        let call = match self {
            Self::Answer(EffectId::Approve(call) | EffectId::Ask { call, .. }) => Some(*call),
            _ => None,
        };
        stored.contains(self) || call.is_some_and(|call| stored.contains(&Self::Over(call)))
    }
}

/// The store of one turn, whose writes reveal what is stored.
#[derive(Debug)]
struct WatchedStore {
    store: Arc<dyn Store>,
    key: TurnKey,
    kept: Kept,
    /// The next owner of the turn, if this host only begins it.
    laid_for: Option<&'static str>,
    laid: Arc<AtomicBool>,
    facts: Facts,
}

impl Drop for WatchedStore {
    fn drop(&mut self) {
        let mut facts = self.facts.lock();
        facts.is_over = true;
        facts.waiting.clear();
    }
}

/// The stored facts, and those that are waited for. The waiters are notified in the order in which they came.
#[derive(Clone, Debug, Default)]
struct Facts(Arc<Mutex<KnownFacts>>);

#[derive(Debug, Default)]
struct KnownFacts {
    stored: HashSet<Fact>,
    waiting: Vec<(Fact, oneshot::Sender<()>)>,
    /// Nothing more will be stored.
    is_over: bool,
}

impl Facts {
    fn lock(&self) -> MutexGuard<'_, KnownFacts> {
        // Nothing is left half-done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownFacts {
    fn add(&mut self, facts: impl Iterator<Item = Fact>) {
        let before = self.stored.len();
        self.stored.extend(facts);
        if self.stored.len() == before {
            return;
        }
        let stored = &self.stored;
        let told = self
            .waiting
            .extract_if(.., |(fact, told)| fact.is_in(stored) || told.is_closed());
        for (_, told) in told {
            let _ = told.send(());
        }
    }
}

/// Knows what is stored. Once the turn holds its store no more, there is nothing to wait for.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    facts: Facts,
    kept: Kept,
    laid: Arc<AtomicBool>,
}

/// The fields that are kept with the turn's checkpoints, such as the client's tools.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<KeptFields>>);

#[derive(Debug, Default)]
struct KeptFields {
    now: Option<Arc<str>>,
    /// The facts, and the fields that replace `now` once they are stored.
    then: Option<(Vec<Fact>, Option<Arc<str>>)>,
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, KeptFields> {
        // Nothing is left half-done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, stored: &HashSet<Fact>) {
        let mut kept = self.lock();
        if let Some((_, fields)) = kept
            .then
            .take_if(|(facts, _)| facts.iter().all(|fact| fact.is_in(stored)))
        {
            kept.now = fields;
        }
    }
}

/// Returns a store for one turn, which keeps with it what it was begun with; and what knows which facts are stored.
/// With `laid_for` the turn begins in the store for that owner, and all later writes are refused: the turn is stored,
/// and has asked no question yet.
pub(crate) fn watched(
    store: Arc<dyn Store>,
    key: TurnKey,
    brought: &Brought,
    laid_for: Option<&'static str>,
) -> (Arc<dyn Store>, Stored) {
    let facts = Facts::default();
    let kept = Kept::default();
    kept.lock().now = brought.fields();
    let laid = Arc::new(AtomicBool::default());
    let store = Arc::new(WatchedStore {
        store,
        key,
        kept: kept.clone(),
        laid_for,
        laid: Arc::clone(&laid),
        facts: facts.clone(),
    });
    (store, Stored { facts, kept, laid })
}

impl Stored {
    /// Returns whether the turn has begun in the store, for another owner to drive.
    pub(crate) fn is_laid(&self) -> bool {
        self.laid.load(Ordering::Acquire)
    }

    /// Keeps this with the turn's checkpoints from now on.
    pub(crate) fn keep(&self, brought: &Brought) {
        *self.kept.lock() = KeptFields {
            now: brought.fields(),
            then: None,
        };
    }

    /// Keeps this with the turn's checkpoints once these are stored.
    pub(crate) fn keep_after(&self, facts: Vec<Fact>, brought: &Brought) {
        self.kept.lock().then = Some((facts, brought.fields()));
        self.kept.settle(&self.facts.lock().stored);
    }

    pub(crate) fn has(&self, fact: &Fact) -> bool {
        fact.is_in(&self.facts.lock().stored)
    }

    /// Waits until it is stored, or will not be. Whether it is.
    pub(crate) async fn until(&self, fact: &Fact) -> bool {
        let told = {
            let mut facts = self.facts.lock();
            if fact.is_in(&facts.stored) || facts.is_over {
                return fact.is_in(&facts.stored);
            }
            let (tell, told) = oneshot::channel();
            facts.waiting.push((fact.clone(), tell));
            told
        };
        told.await.is_ok()
    }
}

impl WatchedStore {
    /// Begins the turn, which this host must not continue.
    async fn lay(&self, turn: &NewTurn) -> Result<Generation, StoreError> {
        match self.store.begin_turn(turn).await {
            Ok(_) => {}
            // An earlier try may have been done, and its answer lost on the way.
            Err(error @ StoreError::Exists { .. }) => {
                let thread = self.store.thread(&turn.key.thread).await?;
                let unfinished = thread.and_then(|thread| thread.unfinished);
                let is_laid = unfinished.is_some_and(|unfinished| {
                    let is_new = unfinished.generation == Generation::FIRST;
                    unfinished.key == turn.key && is_new && unfinished.owner == turn.owner
                });
                if !is_laid {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
        self.laid.store(true, Ordering::Release);
        let message = "the turn has begun, and is driven elsewhere".to_owned();
        Err(StoreError::Refused { message })
    }
}

impl StoreLayer for WatchedStore {
    type Inner = dyn Store;

    fn inner(&self) -> &Self::Inner {
        &*self.store
    }

    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        let checkpoint = turn.checkpoint.as_ref();
        let kept = self.kept.lock().now.clone();
        let kept = checkpoint
            .zip(kept)
            .map(|(checkpoint, kept)| in_checkpoint(&kept, checkpoint));
        if kept.is_none() && self.laid_for.is_none() {
            return self.store.begin_turn(turn);
        }
        let mut turn = turn.clone();
        turn.checkpoint = kept.or(turn.checkpoint);
        let Some(owner) = self.laid_for else {
            return Box::pin(async move { self.store.begin_turn(&turn).await });
        };
        turn.owner = owner.to_owned();
        Box::pin(async move { self.lay(&turn).await })
    }

    /// Claims the turn itself, and no other of its thread: one that has begun at the same moment must not be stopped
    /// here, where its reported events are not known.
    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        if *turn == self.key {
            return self.store.claim(turn, seen, owner);
        }
        Box::pin(async move {
            let thread = self.store.thread(&turn.thread).await?;
            let unfinished = thread.and_then(|thread| thread.unfinished);
            Err(match unfinished.filter(|other| other.key == *turn) {
                Some(other) => StoreError::Busy {
                    turn: other.key.turn,
                    generation: other.generation,
                    owner: other.owner,
                },
                None => StoreError::Closed {
                    turn: turn.turn.clone(),
                },
            })
        })
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let kept = self.kept.lock().now.clone();
            match kept {
                None => self.store.persist(turn, generation, batch).await?,
                Some(kept) => {
                    let checkpoint = in_checkpoint(&kept, &batch.checkpoint);
                    let batch = PersistBatch {
                        checkpoint,
                        ..batch.clone()
                    };
                    self.store.persist(turn, generation, &batch).await?;
                }
            }
            let facts = batch.blocks.iter().flat_map(facts).flatten();
            let mut known = self.facts.lock();
            known.add(facts);
            self.kept.settle(&known.stored);
            Ok(())
        })
    }
}

fn facts(block: &Block) -> [Option<Fact>; 2] {
    match &block.content {
        BlockContent::ToolResult {
            call, tool_call_id, ..
        } => [
            Some(Fact::Result(tool_call_id.clone())),
            Some(Fact::Over(*call)),
        ],
        BlockContent::Message { message } => match &**message {
            Message::Tool(result) => [Some(Fact::Result(result.tool_call_id.clone())), None],
            _ => [None, None],
        },
        BlockContent::Approval { call, .. } => [Some(Fact::Answer(EffectId::Approve(*call))), None],
        BlockContent::Answer { call, number, .. } => {
            let (call, number) = (*call, *number);
            [Some(Fact::Answer(EffectId::Ask { call, number })), None]
        }
        BlockContent::Compacted { compaction, .. } => {
            [Some(Fact::Compacted(compaction.clone())), None]
        }
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::engine::tests::{engine_on, new_turn};
    use serde_json::{Value, json};
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;
    use stepwell_core::Timestamp;
    use stepwell_core::registry::ThreadKey;
    use stepwell_io::store::{EventStore, MemoryStore, ThreadRecord, TurnStore};

    /// A store on which another turn of the thread begins, and emits something, after the first read.
    #[derive(Debug)]
    struct Raced(MemoryStore, AtomicUsize);

    impl StoreLayer for Raced {
        type Inner = MemoryStore;

        fn inner(&self) -> &MemoryStore {
            &self.0
        }

        fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
            let is_second = self.1.fetch_add(1, Ordering::Relaxed) == 1;
            Box::pin(async move {
                if is_second {
                    let key = other(thread);
                    let new = NewTurn::new(key.clone(), "gone", Timestamp(1));
                    let generation = self.0.begin_turn(&new).await?;
                    let said = [
                        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "other"}),
                        json!({"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"}),
                        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Hello"}),
                    ]
                    .map(|event| event.to_string());
                    self.0.append_events(&key, generation, 0, &said).await?;
                }
                self.0.thread(thread).await
            })
        }
    }

    fn other(thread: &ThreadKey) -> TurnKey {
        TurnKey::new(thread.clone(), "other")
    }

    #[tokio::test]
    async fn a_turn_that_began_just_before_another_keeps_what_it_said_and_tells_its_end() {
        let inner = MemoryStore::new();
        let store = Arc::new(Raced(inner.clone(), AtomicUsize::default()));
        let (_model, engine) = engine_on(store, Duration::ZERO).await;
        let begun = engine.start(new_turn()).await.unwrap();
        engine.close(Duration::from_secs(60)).await;
        let other = other(&begun.thread);
        let events = inner.events(&other, None, 1_000);
        let events = events.await.unwrap().into_iter();
        let events: Vec<Value> = events
            .map(|event| serde_json::from_str(&event.data).unwrap())
            .collect();
        let end = events.last().unwrap();
        assert_eq!(end["type"], "RUN_FINISHED", "{events:?}");
        assert_eq!(end["outcome"]["type"], "cancelled", "{events:?}");
        let mut events = events.iter();
        let snapshot = events.find(|event| event["type"] == "MESSAGES_SNAPSHOT");
        assert_eq!(snapshot.unwrap()["messages"][0]["content"], "Hello");
    }
}
