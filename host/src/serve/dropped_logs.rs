//! Drops the logs of turns that have been over for long enough. Their messages remain in their blocks.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use stepwell_core::Timestamp;
use stepwell_io::store::{Store, StoreError};

/// How often logs are dropped.
const EVERY: Duration = Duration::from_secs(10 * 60);

/// The most logs that are dropped in one transaction: other requests wait for the store meanwhile.
const AT_ONCE: usize = 20;

/// Drops, at intervals, the logs of turns that ended longer than `kept` ago.
pub(super) async fn keep_dropping(store: Arc<dyn Store>, kept: Duration) {
    // A log that was checked once has nothing to drop.
    let mut since = Timestamp(0);
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let before = now.unwrap_or_default().saturating_sub(kept).as_millis();
        let before = Timestamp(u64::try_from(before).unwrap_or(u64::MAX));
        match drop_between(&*store, since, before).await {
            Ok(count) => {
                since = since.max(before);
                if count > 0 {
                    tracing::info!(target: "stepwell", count, "logs of turns that are over were dropped");
                }
            }
            Err(error) => {
                tracing::warn!(target: "stepwell", %error, "the logs of turns that are over cannot be dropped; trying again");
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn drop_between(
    store: &dyn Store,
    since: Timestamp,
    before: Timestamp,
) -> Result<usize, StoreError> {
    let mut count = 0;
    loop {
        let dropped = store.drop_logs(since..before, AT_ONCE).await?;
        count += dropped;
        if dropped < AT_ONCE {
            return Ok(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_core::run::{Outcome, TurnStatus};
    use stepwell_io::store::{
        EventStore, Generation, MemoryStore, NewTurn, PersistBatch, TurnKey, TurnStore,
    };

    async fn ended(store: &MemoryStore, thread: &str, at: Timestamp) -> TurnKey {
        let key = TurnKey::new(thread, "r");
        let new = NewTurn::new(key.clone(), "host", at);
        store.begin_turn(&new).await.expect("it begins");
        let end = PersistBatch {
            first: 0,
            blocks: Vec::new(),
            status: TurnStatus::Complete,
            outcome: Some(Outcome::Success),
            checkpoint: String::new(),
            first_event: 0,
            events: ["first", "last"].map(str::to_owned).to_vec(),
            at,
        };
        let stored = store.persist(&key, Generation::FIRST, &end);
        stored.await.expect("it ends");
        key
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_that_is_old_enough_keeps_its_last_event() {
        let store = MemoryStore::new();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = u64::try_from(now.expect("a time").as_millis()).expect("it fits");
        let mut old = Vec::new();
        for number in 0..AT_ONCE + 5 {
            old.push(ended(&store, &format!("old{number}"), Timestamp(1)).await);
        }
        let new = ended(&store, "new", Timestamp(now)).await;
        let kept = Duration::from_secs(3600);
        let dropping = keep_dropping(Arc::new(store.clone()), kept);
        let dropping = tokio::time::timeout(EVERY / 2, dropping).await;
        assert!(dropping.is_err(), "it goes on");
        let count = async |key| store.events(key, None, 10).await.map(|events| events.len());
        for key in &old {
            assert_eq!(count(key).await, Ok(1));
        }
        assert_eq!(count(&new).await, Ok(2));
    }
}
