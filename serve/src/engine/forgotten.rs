//! Runs on a store that keeps nothing: they are forgotten some time after their end, and where the next run of their
//! thread begins, whose client has the conversation.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use stepwell_io::store::{Store, StoreError, TurnKey};
use tokio::time::Instant;

/// How long a run that is over is kept, for its client to resume.
const KEPT: Duration = Duration::from_secs(600);

/// The most runs that are kept: the oldest make room.
const MOST: usize = 10_000;

/// The turns that are over, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Ended(Mutex<VecDeque<(Instant, TurnKey)>>);

impl Ended {
    pub(crate) fn add(&self, turn: TurnKey) {
        let mut ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push_back((Instant::now(), turn));
    }

    /// Returns the next turn to forget.
    fn due(&self) -> Option<TurnKey> {
        let mut ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_many = ended.len() > MOST;
        let first = ended.front();
        let is_due = first.is_some_and(|(at, _)| is_many || at.elapsed() >= KEPT);
        let due = is_due.then(|| ended.pop_front()).flatten();
        due.map(|(_, turn)| turn)
    }

    /// Forgets the runs that have been kept for long enough.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub(crate) async fn forget(&self, store: &dyn Store) -> Result<(), StoreError> {
        while let Some(turn) = self.due() {
            forget(store, &turn).await?;
        }
        Ok(())
    }
}

/// Deletes the thread of a run, if the run is its latest turn, and over. Turns of threads that the server keeps for its
/// users stay.
///
/// # Errors
/// The store cannot be read or written.
pub(crate) async fn forget(store: &dyn Store, turn: &TurnKey) -> Result<(), StoreError> {
    let Some(record) = store.thread(&turn.thread).await? else {
        return Ok(());
    };
    if record.unfinished.is_some() || record.latest.as_ref() != Some(&turn.turn) {
        return Ok(());
    }
    let stored = store.turn(turn).await?;
    if stored.is_some_and(|stored| stored.history.is_some()) {
        store.delete_thread(&turn.thread).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_core::Timestamp;
    use stepwell_core::event::Message;
    use stepwell_core::run::{Outcome, TurnStatus};
    use stepwell_core::session::TurnHistory;
    use stepwell_core::transcript::Transcript;
    use stepwell_io::store::{Generation, MemoryStore, NewTurn, PersistBatch, TurnStore};

    async fn begin(store: &MemoryStore, thread: &str, is_run: bool) -> (TurnKey, Generation) {
        let key = TurnKey::new(thread, "r");
        let said = Transcript::new(vec![Message::user("m", "hello")]);
        let mut new = NewTurn::new(key.clone(), "host", Timestamp(1));
        new.history = TurnHistory::of(&said).filter(|_| is_run).map(Box::new);
        let generation = store.begin_turn(&new).await.unwrap();
        (key, generation)
    }

    async fn end(store: &MemoryStore, (key, generation): &(TurnKey, Generation)) {
        let batch = PersistBatch {
            first: 0,
            blocks: Vec::new(),
            status: TurnStatus::Complete,
            outcome: Some(Outcome::Success),
            checkpoint: String::new(),
            at: Timestamp(2),
            first_event: 0,
            events: Vec::new(),
        };
        store.persist(key, *generation, &batch).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_forgotten_after_its_time_and_a_turn_of_a_thread_is_not() {
        let store = MemoryStore::new();
        let ended = Ended::default();
        let mut threads = Vec::new();
        for (thread, is_run) in [("run", true), ("session", false), ("open", true)] {
            let turn = begin(&store, thread, is_run).await;
            if thread != "open" {
                end(&store, &turn).await;
            }
            ended.add(turn.0.clone());
            threads.push(turn.0.thread);
        }
        let there = async || {
            let mut there = Vec::new();
            for thread in &threads {
                there.push(store.thread(thread).await.unwrap().is_some());
            }
            there
        };
        ended.forget(&store).await.unwrap();
        assert_eq!(there().await, [true, true, true]);
        tokio::time::advance(KEPT).await;
        ended.forget(&store).await.unwrap();
        assert_eq!(there().await, [false, true, true]);
    }
}
