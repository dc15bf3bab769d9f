//! Writes what a turn says into the store's log, in batches: whoever catches up reads it there, on any host.

use super::super::lawful::Lawful;
use super::stored_results::StoredResults;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::ToolCallId;
use stepwell_io::Event;
use stepwell_io::StoredTurn;
use stepwell_io::store::{Store, StoreError, StoreFuture};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The time between two writes, for what is not urgent: a write for each word would keep a database busy, and a reader
/// sees no difference.
const INTERVAL: Duration = Duration::from_millis(50);

/// The most events of one write.
const BATCH: usize = 256;

/// Events that may wait for the store. Then the turn waits.
const WAITING: usize = 1024;

/// As many events as one event of a turn may become.
const ROOM: usize = 8;

/// The pauses between the tries of a store that does not take the log, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// One call that takes longer has failed: the network may have swallowed it.
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// How many events are read at once.
const PAGE: usize = 1024;

/// The log of a turn, for its owner.
#[derive(Debug)]
pub(super) struct EventWriter {
    lawful: Lawful,
    sender: mpsc::Sender<Entry>,
    task: JoinHandle<Result<(), StoreError>>,
    failed: CancellationToken,
    trouble: watch::Receiver<Option<StoreError>>,
}

#[derive(Debug)]
struct Entry {
    json: String,
    /// Whether it is written at once.
    is_urgent: bool,
    /// It tells what came of this call, and comes after that in the store.
    result_of: Option<ToolCallId>,
}

/// What the log has already, of an owner before.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) events: Vec<Event>,
}

/// A log that is read or written. It waits for a store that is full or out of reach until the turn is let go of.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) store: Arc<dyn Store>,
    pub(super) turn: StoredTurn,
    pub(super) results: StoredResults,
    /// The turn is let go of: nothing is waited for any more.
    pub(super) leave: CancellationToken,
    /// What the log waits for.
    pub(super) trouble: watch::Sender<Option<StoreError>>,
}

impl EventWriter {
    /// Goes on with the log where it ends.
    pub(super) async fn open(log: Log) -> Result<(Self, Written), StoreError> {
        let mut lawful = Lawful::default();
        let mut written = Written::default();
        let mut next = 0;
        loop {
            let after = u64::checked_sub(next, 1);
            let read = || log.store.events(&log.turn.key, after, PAGE);
            let page = log.patiently(read).await?;
            let Some(last) = page.last() else { break };
            next = last.index + 1;
            for logged in &page {
                match serde_json::from_str::<Event>(&logged.data) {
                    Ok(event) => {
                        lawful.passed(&event);
                        written.events.push(event);
                    }
                    Err(error) => {
                        let message = format!("event {}: {error}", logged.index);
                        return Err(StoreError::Damaged { message });
                    }
                }
            }
        }
        let (sender, receiver) = mpsc::channel(WAITING);
        let failed = CancellationToken::new();
        let trouble = log.trouble.subscribe();
        let task = tokio::spawn(log.write(next, receiver, failed.clone()));
        let writer = Self {
            lawful,
            sender,
            task,
            failed,
            trouble,
        };
        Ok((writer, written))
    }

    /// Waits until nothing can be written any more.
    pub(super) fn failed(&self) -> impl Future<Output = ()> + use<> {
        self.failed.clone().cancelled_owned()
    }

    /// What keeps the log waiting, if anything does.
    pub(super) fn trouble(&self) -> watch::Receiver<Option<StoreError>> {
        self.trouble.clone()
    }

    /// Waits until there is room for what one event of the turn may become, or until nothing can be written any more.
    pub(super) async fn room(&self) {
        let _ = self.sender.reserve_many(ROOM).await;
    }

    /// Appends an event, once there is room.
    pub(super) async fn append(&mut self, event: Event) {
        self.put(event, None).await;
    }

    /// As [`append`](Self::append), for what came of a call: it is written when that is stored.
    pub(super) async fn append_result(&mut self, event: Event, call: &ToolCallId) {
        self.put(event, Some(call.clone())).await;
    }

    async fn put(&mut self, event: Event, result_of: Option<ToolCallId>) {
        let is_urgent = !is_delta(&event);
        let Some(event) = self.lawful.admit(event) else {
            return;
        };
        match serde_json::to_string(&event) {
            Ok(json) => {
                let entry = Entry {
                    json,
                    is_urgent,
                    result_of,
                };
                // A writer that is gone has said why.
                let _ = self.sender.send(entry).await;
            }
            Err(error) => {
                tracing::error!(target: "stepwell", %error, kind = event.kind(), "an event cannot be written");
            }
        }
    }

    /// Closes what an owner before has left open.
    pub(super) async fn close_open_items(&mut self) {
        for end in self.lawful.ends() {
            self.append(end).await;
        }
    }

    /// Writes the end of the turn, and waits until all is stored.
    pub(super) async fn end(mut self, event: Event) -> Result<(), StoreError> {
        if matches!(event, Event::RunFinished(_)) {
            self.close_open_items().await;
        }
        self.append(event).await;
        self.finish().await
    }

    /// Waits until all is stored.
    pub(super) async fn finish(self) -> Result<(), StoreError> {
        drop(self.sender);
        self.task.await.unwrap_or_else(|error| {
            let message = error.to_string();
            Err(StoreError::Other { message })
        })
    }
}

fn is_delta(event: &Event) -> bool {
    matches!(
        event,
        Event::TextMessageContent(_)
            | Event::ReasoningMessageContent(_)
            | Event::ToolCallArgs(_)
            | Event::TextMessageStart(_)
            | Event::ReasoningStart(_)
            | Event::ReasoningMessageStart(_)
    )
}

impl Log {
    async fn write(
        mut self,
        mut next: u64,
        mut entries: mpsc::Receiver<Entry>,
        failed: CancellationToken,
    ) -> Result<(), StoreError> {
        let _failed = failed.drop_guard();
        let mut may_write_at = Instant::now();
        let mut first = entries.recv().await;
        while let Some(entry) = first.take() {
            if let Some(call) = &entry.result_of {
                tokio::select! {
                    () = self.results.until(call) => {}
                    () = self.leave.cancelled() => return Ok(()),
                }
            }
            let mut is_urgent = entry.is_urgent;
            let mut batch = vec![entry.json];
            while batch.len() < BATCH {
                let entry = if is_urgent {
                    entries.try_recv().ok()
                } else {
                    tokio::select! {
                        biased;
                        entry = entries.recv() => entry,
                        () = tokio::time::sleep_until(may_write_at) => None,
                    }
                };
                let Some(entry) = entry else { break };
                let is_early = |call: &ToolCallId| !self.results.has(call);
                if entry.result_of.as_ref().is_some_and(is_early) {
                    // What is before it is not to wait for it.
                    first = Some(entry);
                    break;
                }
                is_urgent |= entry.is_urgent;
                batch.push(entry.json);
            }
            let (store, turn) = (&self.store, &self.turn);
            let append = || store.append_events(&turn.key, turn.generation, next, &batch);
            self.patiently(append).await?;
            next += batch.len() as u64;
            may_write_at = Instant::now() + INTERVAL;
            if first.is_none() {
                first = entries.recv().await;
            }
        }
        Ok(())
    }

    /// Tries until it is done, cannot be done, or the turn is let go of. The store takes the same batch twice.
    async fn patiently<'a, T>(
        &'a self,
        call: impl Fn() -> StoreFuture<'a, T>,
    ) -> Result<T, StoreError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let answer = tokio::time::timeout(LONGEST_CALL, call()).await;
            let answer = answer.unwrap_or_else(|_| {
                let message = format!("no answer in {} s", LONGEST_CALL.as_secs());
                Err(StoreError::Unavailable { message })
            });
            let error = match answer {
                Err(error) if may_pass(&error) => error,
                done => {
                    self.trouble
                        .send_if_modified(|trouble| trouble.take().is_some());
                    return done;
                }
            };
            tracing::warn!(target: "stepwell", turn = %self.turn.key, %error, "the log waits for the store");
            self.trouble.send_if_modified(|trouble| {
                let is_new = trouble.as_ref() != Some(&error);
                *trouble = Some(error.clone());
                is_new
            });
            tokio::select! {
                () = self.leave.cancelled() => return Err(error),
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Whether the same call may do later.
fn may_pass(error: &StoreError) -> bool {
    error.is_transient() || matches!(error, StoreError::ReadOnly { .. })
}
