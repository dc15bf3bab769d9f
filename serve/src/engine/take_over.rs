//! A host among others on one store: it continues the turns of hosts whose leases have expired.
//!
//! The generation alone decides which host takes a turn over: of several hosts that claim it one wins, and a host that
//! was presumed dead, and was only frozen or cut off, is refused at its next write and releases the turn.

use crate::engine::EngineError;
use crate::engine::GoesOn;
use crate::engine::LocalEngine;
use crate::engine::times::LOOKED_EVERY;
use std::collections::HashMap;
use stepwell_io::store::{Generation, RESTING, StoreError, TurnKey};
use tokio::time::Instant;

/// The number of looks after which turns that have waited for their users for too long are ended.
const LOOKS_UNTIL_LAPSED: u32 = 15;

/// The most turns that wait for their users, without those of threads: the oldest make room.
const MOST_RESTING: usize = 10_000;

impl LocalEngine {
    /// Looks for unfinished turns that no living host owns, and continues them, until the engine is stopped. The first look is
    /// no sooner than any other: where the store was away, the other hosts are about to renew their leases too.
    ///
    /// # Errors
    /// The store cannot be reached. A single turn that cannot continue is logged, and stays as it is.
    pub(crate) async fn recover(&self) -> Result<(), StoreError> {
        self.0.leased().await?;
        let engine = self.clone();
        tokio::spawn(async move { engine.keep_looking().await });
        tokio::spawn(self.0.clone().keep_hearing());
        Ok(())
    }

    async fn keep_looking(&self) {
        let over = self.0.own_lease().over.clone();
        let mut was_there = true;
        let mut resting = HashMap::new();
        for look in 1_u32.. {
            tokio::select! {
                biased;
                () = over.cancelled() => return,
                () = tokio::time::sleep(LOOKED_EVERY) => {}
            }
            let lease = self.0.own_lease().lease(self.0.setup()).await;
            let held_for = lease.ok().and_then(|lease| lease.held_for());
            if was_there != held_for.is_some() {
                was_there = held_for.is_some();
                if was_there {
                    tracing::info!(target: "stepwell", "this host holds its lease again");
                } else {
                    tracing::warn!(target: "stepwell", "this host has lost its lease: it begins no turn, and others may take its own");
                }
            }
            if held_for.is_some_and(|held_for| held_for >= LOOKED_EVERY)
                && let Err(error) = self.take_over().await
            {
                tracing::warn!(target: "stepwell", %error, "the store does not say which turns nobody has; trying again");
            }
            if look.is_multiple_of(LOOKS_UNTIL_LAPSED)
                && let Err(error) = self.end_lapsed(&mut resting).await
            {
                tracing::warn!(target: "stepwell", %error, "the store does not say which turns rest; trying again");
            }
        }
    }

    /// Ends the turns that have waited for their users for as long as they may, and the oldest of those above the
    /// limit. `seen` has the time since when each was seen at rest.
    async fn end_lapsed(
        &self,
        seen: &mut HashMap<(TurnKey, Generation), Instant>,
    ) -> Result<(), StoreError> {
        let resting = self.0.store().unfinished(Some(RESTING)).await?;
        let excess = resting.len().saturating_sub(MOST_RESTING);
        let longest = self.0.setup().interrupt_time;
        let before = std::mem::take(seen);
        for (place, turn) in resting.into_iter().enumerate() {
            let rest = (turn.key.clone(), turn.generation);
            let since = before.get(&rest).copied();
            let since = *seen
                .entry(rest)
                .or_insert(since.unwrap_or_else(Instant::now));
            if place >= excess && since.elapsed() < longest {
                continue;
            }
            let key = turn.key.clone();
            tracing::info!(target: "stepwell", turn = %key, "a turn that waited for its user is cancelled: nobody came");
            match self.0.adopt(turn, GoesOn::cancelled()).await {
                Ok(active) => active.ended.cancelled().await,
                Err(error) => {
                    tracing::debug!(target: "stepwell", turn = %key, %error, "a turn that rests was not cancelled");
                }
            }
        }
        Ok(())
    }

    /// Continues the turns that no living host owns, and this host's own turns that no task drives, as far as there is
    /// room.
    pub(crate) async fn take_over(&self) -> Result<(), StoreError> {
        let (store, owner) = (self.0.store(), &self.0.setup().owner);
        let mut left = store.orphans().await?;
        // This host's own turns that the store did not let it continue.
        let own = store.unfinished(Some(owner)).await?;
        self.0.let_go_of_taken(&own).await;
        left.extend(own);
        for turn in left {
            if self.0.is_full() || self.0.is_stopping() {
                break;
            }
            let key = turn.key.clone();
            if self.0.find(&key).is_some() {
                // The turn is under way here. Or another host took it and has died too: this host continues the turn
                // once the turn is released here.
                continue;
            }
            match self.0.adopt(turn, GoesOn::default()).await {
                Ok(_) => {}
                Err(EngineError::Store(error)) if error.is_lost() => {
                    tracing::debug!(target: "stepwell", turn = %key, %error, "another host was quicker");
                }
                Err(error) => {
                    tracing::error!(target: "stepwell", turn = %key, %error, "an unfinished turn cannot go on");
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::engine::tests::{engine_on, new_turn};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;
    use stepwell_core::Timestamp;
    use stepwell_core::run::TurnStatus;
    use stepwell_core::session::Turn;
    use stepwell_io::store::{
        Claimed, EventStore, Lease, LeaseKey, MemoryStore, NewTurn, StoreFuture, StoreLayer,
        TurnStore,
    };

    /// A store that renews leases when the test asks it to.
    #[derive(Debug)]
    struct Renewing(MemoryStore, Arc<AtomicBool>);

    impl StoreLayer for Renewing {
        type Inner = MemoryStore;

        fn inner(&self) -> &MemoryStore {
            &self.0
        }

        fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
            if self.1.load(Ordering::Relaxed) {
                return self.0.renew_lease(key, term);
            }
            let message = "it is away".to_owned();
            Box::pin(std::future::ready(Err(StoreError::Unavailable { message })))
        }
    }

    /// A host, and whether its store renews leases.
    async fn host() -> (MemoryStore, Arc<AtomicBool>, LocalEngine) {
        let inner = MemoryStore::new();
        let renews = Arc::new(AtomicBool::new(true));
        let store = Renewing(inner.clone(), Arc::clone(&renews));
        let (_, engine) = engine_on(Arc::new(store), Duration::ZERO).await;
        (inner, renews, engine)
    }

    /// The lease of the host is lost.
    async fn lose(renews: &AtomicBool) {
        renews.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(6)).await;
    }

    /// A turn of an unknown host.
    async fn leave(store: &MemoryStore, thread: &str) -> TurnKey {
        begin(store, thread, "gone").await
    }

    /// Begins a turn of the host `owner`.
    async fn begin(store: &MemoryStore, thread: &str, owner: &str) -> TurnKey {
        let key = TurnKey::new(thread, "r");
        let new = NewTurn::new(key.clone(), owner, Timestamp(1));
        store.begin_turn(&new).await.unwrap();
        key
    }

    async fn generation(store: &MemoryStore, turn: &TurnKey) -> Generation {
        let thread = store.thread(&turn.thread).await.unwrap().unwrap();
        // A turn that cannot continue may have been closed by the host that claimed it.
        thread
            .unfinished
            .map_or(Generation(2), |turn| turn.generation)
    }

    /// Waits until a host has claimed the turn.
    async fn claimed(store: &MemoryStore, turn: &TurnKey) {
        let mut changes = store.subscribe(&turn.thread).await.unwrap();
        while generation(store, turn).await == Generation::FIRST {
            changes.changed().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_continues_turns_at_its_start_and_at_each_look() {
        let (store, _say, engine) = host().await;
        let first = leave(&store, "first").await;
        let begin = Instant::now();
        engine.recover().await.unwrap();
        claimed(&store, &first).await;
        assert_eq!(begin.elapsed().as_secs(), LOOKED_EVERY.as_secs());
        let begin = Instant::now();
        let second = leave(&store, "second").await;
        claimed(&store, &second).await;
        assert_eq!(begin.elapsed().as_secs(), LOOKED_EVERY.as_secs());
        engine.close(Duration::ZERO).await;
        let third = leave(&store, "third").await;
        tokio::time::sleep(2 * LOOKED_EVERY).await;
        assert_eq!(generation(&store, &third).await, Generation::FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn leaves_a_turn_to_its_owner_while_the_owner_is_alive() {
        let (store, _say, engine) = host().await;
        // Owners of a store in memory are known by name in the whole process: no other test uses this one.
        let owner = "a host that lives";
        let lease = Lease::acquire(Arc::new(store.clone()), owner)
            .await
            .unwrap();
        let turn = begin(&store, "owned", owner).await;
        engine.recover().await.unwrap();
        tokio::time::sleep(3 * LOOKED_EVERY).await;
        assert_eq!(generation(&store, &turn).await, Generation::FIRST);
        lease.end().await;
        claimed(&store, &turn).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_was_taken_for_dead_looks_when_the_others_are_back_too() {
        let (store, renews, engine) = host().await;
        engine.recover().await.unwrap();
        lose(&renews).await;
        let left = leave(&store, "left").await;
        tokio::time::sleep(5 * LOOKED_EVERY).await;
        assert_eq!(generation(&store, &left).await, Generation::FIRST);
        renews.store(true, Ordering::Relaxed);
        let back = Instant::now();
        claimed(&store, &left).await;
        assert!(back.elapsed() >= LOOKED_EVERY, "{:?}", back.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_the_store_takes_for_dead_begins_no_turn() {
        let (store, renews, engine) = host().await;
        engine.recover().await.unwrap();
        lose(&renews).await;
        let refused = engine.start(new_turn()).await;
        assert!(
            matches!(
                refused,
                Err(EngineError::Store(StoreError::Unavailable { .. }))
            ),
            "{refused:?}"
        );
        assert_eq!(store.unfinished(None).await, Ok(Vec::new()));
    }

    /// A store that cannot read what its turns emitted.
    #[derive(Debug)]
    struct Damaged(MemoryStore);

    impl StoreLayer for Damaged {
        type Inner = MemoryStore;

        fn inner(&self) -> &MemoryStore {
            &self.0
        }

        fn path<'a>(&'a self, _: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
            let message = "a block cannot be read".to_owned();
            Box::pin(std::future::ready(Err(StoreError::Damaged { message })))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stopping_a_turn_of_a_damaged_store_reports_the_damage() {
        let inner = MemoryStore::new();
        let left = leave(&inner, "left").await;
        let (_, engine) = engine_on(Arc::new(Damaged(inner)), Duration::ZERO).await;
        let stopped = engine.cancel(&left).await;
        assert!(
            matches!(stopped, Err(EngineError::Store(StoreError::Damaged { .. }))),
            "{stopped:?}"
        );
    }

    /// A store on which another host takes each turn that this one has claimed.
    #[derive(Debug)]
    struct Taken(MemoryStore);

    impl StoreLayer for Taken {
        type Inner = MemoryStore;

        fn inner(&self) -> &MemoryStore {
            &self.0
        }

        fn claim<'a>(
            &'a self,
            turn: &'a TurnKey,
            seen: Generation,
            owner: &'a str,
        ) -> StoreFuture<'a, Claimed> {
            Box::pin(async move {
                let claimed = self.0.claim(turn, seen, owner).await?;
                self.0.claim(turn, claimed.generation, "another").await?;
                Ok(claimed)
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn hosts_that_take_a_turn_from_each_other_are_a_conflict() {
        let inner = MemoryStore::new();
        let left = leave(&inner, "left").await;
        let (_, engine) = engine_on(Arc::new(Taken(inner)), Duration::ZERO).await;
        let stopped = engine.cancel(&left).await.expect_err("it is taken");
        assert!(matches!(stopped, EngineError::Contended), "{stopped:?}");
    }

    /// A store that makes the program fail after each claim, once.
    #[derive(Debug)]
    struct Breaks(MemoryStore, AtomicBool);

    impl StoreLayer for Breaks {
        type Inner = MemoryStore;

        fn inner(&self) -> &MemoryStore {
            &self.0
        }

        fn claim<'a>(
            &'a self,
            turn: &'a TurnKey,
            seen: Generation,
            owner: &'a str,
        ) -> StoreFuture<'a, Claimed> {
            self.1.store(true, Ordering::Relaxed);
            self.0.claim(turn, seen, owner)
        }

        fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
            assert!(!self.1.swap(false, Ordering::Relaxed), "a fault");
            TurnStore::path(&self.0, turn)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_breaks_off_ends_and_is_not_begun_for_ever() {
        let inner = MemoryStore::new();
        let left = leave(&inner, "left").await;
        let mut changes = inner.subscribe(&left.thread).await.unwrap();
        let store = Breaks(inner.clone(), AtomicBool::default());
        let (_, engine) = engine_on(Arc::new(store), Duration::ZERO).await;
        engine.recover().await.unwrap();
        let ends = async {
            while inner.turn(&left).await.unwrap().unwrap().status == TurnStatus::Streaming {
                changes.changed().await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(3_600), ends).await;
        assert_eq!(ended, Ok(()));
        let ended = inner.turn(&left).await.unwrap().unwrap();
        assert_eq!(ended.status, TurnStatus::Failed);
    }
}
