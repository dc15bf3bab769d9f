//! Writes what a turn says into the store's log, in batches: whoever catches up reads it there, on any host.

use super::super::lawful::Lawful;
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::Event;
use stepwell_io::StoredTurn;
use stepwell_io::store::{Store, StoreError};
use tokio::sync::mpsc;
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

/// How long the log waits for the store, at first, at most, and in all.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);

/// How many events are read at once.
const PAGE: usize = 1024;

/// The log of a turn, for its owner.
#[derive(Debug)]
pub(super) struct EventWriter {
    lawful: Lawful,
    sender: mpsc::Sender<Entry>,
    task: JoinHandle<Result<(), StoreError>>,
    failed: CancellationToken,
}

#[derive(Debug)]
struct Entry {
    json: String,
    /// Whether it is written at once.
    is_urgent: bool,
}

/// What the log has already, of an owner before.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) events: Vec<Event>,
}

impl EventWriter {
    /// Goes on with the log where it ends.
    pub(super) async fn open(
        store: Arc<dyn Store>,
        turn: StoredTurn,
    ) -> Result<(Self, Written), StoreError> {
        let mut lawful = Lawful::default();
        let mut written = Written::default();
        let mut next = 0;
        loop {
            let after = u64::checked_sub(next, 1);
            let page = store.events(&turn.key, after, PAGE).await?;
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
        let task = tokio::spawn(write(store, turn, next, receiver, failed.clone()));
        let writer = Self {
            lawful,
            sender,
            task,
            failed,
        };
        Ok((writer, written))
    }

    /// Waits until nothing can be written any more.
    pub(super) fn failed(&self) -> impl Future<Output = ()> + use<> {
        self.failed.clone().cancelled_owned()
    }

    /// Appends an event, once there is room.
    pub(super) async fn append(&mut self, event: Event) {
        let is_urgent = !is_delta(&event);
        let Some(event) = self.lawful.admit(event) else {
            return;
        };
        match serde_json::to_string(&event) {
            // A writer that is gone has said why.
            Ok(json) => drop(self.sender.send(Entry { json, is_urgent }).await),
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

async fn write(
    store: Arc<dyn Store>,
    turn: StoredTurn,
    mut next: u64,
    mut entries: mpsc::Receiver<Entry>,
    failed: CancellationToken,
) -> Result<(), StoreError> {
    let _failed = failed.drop_guard();
    let mut may_write_at = Instant::now();
    let mut batch: Vec<String> = Vec::new();
    let mut is_open = true;
    while is_open {
        let mut is_urgent = false;
        match entries.recv().await {
            Some(entry) => {
                is_urgent |= entry.is_urgent;
                batch.push(entry.json);
            }
            None => break,
        }
        while batch.len() < BATCH {
            let entry = if is_urgent {
                entries.try_recv().ok()
            } else {
                tokio::select! {
                    biased;
                    entry = entries.recv() => {
                        is_open = entry.is_some();
                        entry
                    }
                    () = tokio::time::sleep_until(may_write_at) => None,
                }
            };
            let Some(entry) = entry else { break };
            is_urgent |= entry.is_urgent;
            batch.push(entry.json);
        }
        append(&*store, &turn, next, &batch).await?;
        next += batch.len() as u64;
        batch.clear();
        may_write_at = Instant::now() + INTERVAL;
    }
    Ok(())
}

/// Appends a batch, and waits for a store that is full or out of reach: it takes the same batch twice.
async fn append(
    store: &dyn Store,
    turn: &StoredTurn,
    first: u64,
    events: &[String],
) -> Result<(), StoreError> {
    let until = Instant::now() + PATIENCE;
    let mut pause = FIRST_PAUSE;
    loop {
        let appended = store.append_events(&turn.key, turn.generation, first, events);
        match appended.await {
            Err(error) if error.is_transient() && Instant::now() + pause < until => {
                tracing::warn!(target: "stepwell", turn = %turn.key, %error, "the log waits for the store");
            }
            done => return done,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
