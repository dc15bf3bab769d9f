//! Turns that another host has taken from this one.

use crate::engine::Driver;
use std::collections::HashSet;
use stepwell_io::store::Unfinished;

impl Driver {
    /// Releases the turns that another host has taken from this one, whose turns are `own`. A waiting turn would
    /// otherwise notice only at its next write, and its readers here would wait with it.
    pub(crate) async fn let_go_of_taken(&self, own: &[Unfinished]) {
        let own: HashSet<_> = own.iter().map(|turn| &turn.key).collect();
        let store = self.store();
        for active in self.active() {
            let Some(turn) = active.stands.get().filter(|turn| !own.contains(&turn.key)) else {
                continue;
            };
            // A turn may also have just begun, or be reporting its end. An empty write is refused where another host
            // owns the turn.
            let written = store.append_events(&turn.key, turn.generation, 0, &[]);
            if let Err(error) = written.await
                && error.is_lost()
            {
                tracing::info!(target: "stepwell", turn = %turn.key, %error, "a turn is left to its new owner");
                active.leave.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::tests::{engine_on, new_turn, said};
    use crate::engine::times::LOOKED_EVERY;
    use crate::engine::{Engine, LocalEngine};
    use std::sync::Arc;
    use std::time::Duration;
    use stepwell_core::Timestamp;
    use stepwell_core::run::{Outcome, TurnStatus};
    use stepwell_io::store::{
        EventStore, Generation, MemoryStore, PersistBatch, TurnKey, TurnStore,
    };

    /// Begins a turn that asks the user, and stops the clock while no answer comes.
    async fn asks(store: &MemoryStore, engine: &LocalEngine) -> TurnKey {
        let mut new = new_turn();
        new.origin = said("change");
        let key = engine.start(new).await.unwrap();
        let mut changes = store.subscribe(&key.thread).await.unwrap();
        loop {
            let events = store.events(&key, None, 1_000).await.unwrap();
            if events.iter().any(|event| event.data.contains("interrupt")) {
                tokio::time::pause();
                return key;
            }
            changes.changed().await;
        }
    }

    #[tokio::test]
    async fn a_turn_that_another_host_has_ended_is_released_and_its_end_reported() {
        let store = MemoryStore::new();
        let (_model, engine) = engine_on(Arc::new(store.clone()), Duration::ZERO).await;
        engine.recover().await.unwrap();
        let key = asks(&store, &engine).await;
        // The other host dies before it can report the end.
        let claimed = store.claim(&key, Generation::FIRST, "other").await.unwrap();
        let stored = store.turn(&key).await.unwrap().unwrap();
        let batch = PersistBatch {
            first: stored.blocks.len() as u64,
            blocks: Vec::new(),
            status: TurnStatus::Cancelled,
            outcome: Some(Outcome::Cancelled),
            checkpoint: String::new(),
            at: Timestamp(1),
            first_event: 0,
            events: Vec::new(),
        };
        store
            .persist(&key, claimed.generation, &batch)
            .await
            .unwrap();
        tokio::time::sleep(2 * LOOKED_EVERY).await;
        assert!(engine.0.find(&key).is_none(), "it is not this host's");
        engine.tell_end(&key).await.unwrap();
        let events = store.events(&key, None, 1_000).await.unwrap();
        let end = &events.last().unwrap().data;
        assert!(end.contains("RUN_FINISHED"), "{end}");
    }

    #[tokio::test]
    async fn a_turn_that_was_taken_by_a_host_that_is_gone_too_comes_back() {
        let store = MemoryStore::new();
        let (_model, engine) = engine_on(Arc::new(store.clone()), Duration::ZERO).await;
        engine.recover().await.unwrap();
        let key = asks(&store, &engine).await;
        store.claim(&key, Generation::FIRST, "other").await.unwrap();
        tokio::time::sleep(4 * LOOKED_EVERY).await;
        let thread = store.thread(&key.thread).await.unwrap().unwrap();
        assert_eq!(thread.unfinished.unwrap().generation, Generation(3));
    }
}
