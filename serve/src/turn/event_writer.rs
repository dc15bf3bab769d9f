//! Writes what a turn emits into the store's log, within the rules of the protocol: in batches, for readers on any
//! host.

use crate::turn::stored::{Fact, Stored};
use crate::turn::valid_order::ValidOrder;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::MessageId;
use stepwell_core::event::{EventRef, Message};
use stepwell_core::transcript::Transcript;
use stepwell_io::RunId;
use stepwell_io::store::{Store, StoreError, StoreFuture, TurnKey};
use stepwell_io::turn::Event;
use stepwell_io::turn::StoredTurn;
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

/// The number of events that one event of a turn may become.
const ROOM: usize = 8;

/// The pauses between the tries of a store that does not take the log, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The time after which a call has failed: the network may have swallowed it.
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// How many events are read at once.
const PAGE: usize = 1024;

/// The writer of a turn's events, for the task that drives the turn.
#[derive(Debug)]
pub(crate) struct EventWriter {
    order: ValidOrder,
    sender: mpsc::Sender<Entry>,
    task: JoinHandle<Result<(), StoreError>>,
    failed: CancellationToken,
    trouble: watch::Receiver<Option<StoreError>>,
}

#[derive(Debug)]
struct Entry {
    json: String,
    /// Whether the event is written at once.
    is_urgent: bool,
    /// The facts that the event reports. It comes after them in the store.
    of: Vec<Fact>,
}

/// The events of the log from an earlier owner.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) events: Vec<Event>,
    /// The number of the next.
    pub(crate) next: u64,
}

fn starts(event: &Event, run: &RunId) -> bool {
    matches!(event, Event::RunStarted(start) if start.run_id == *run)
}

impl Written {
    /// Returns the events until a run had started; `None` where its start was dropped.
    pub(crate) fn until_start(mut self, id: &RunId) -> Option<Self> {
        let start = self.events.iter().rposition(|event| starts(event, id))?;
        let after = self.events.len() - (start + 1);
        self.events.truncate(start + 1);
        self.next -= after as u64;
        Some(self)
    }

    /// Returns whether the log has events of the message.
    pub(crate) fn has_message(&self, id: &MessageId) -> bool {
        self.events.iter().any(|event| match event {
            Event::TextMessageStart(start) => start.message_id == *id,
            Event::ReasoningMessageStart(start) => start.message_id == *id,
            Event::ToolCallStart(start) => start.parent_message_id.as_ref() == Some(id),
            Event::ToolCallResult(result) => result.message_id == *id,
            _ => false,
        })
    }

    /// Returns whether a run of this id was reported.
    pub(crate) fn has_run(&self, id: &RunId) -> bool {
        self.events.iter().any(|event| starts(event, id))
    }

    /// The messages that the events come to.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let mut fold = Transcript::default();
        for event in &self.events {
            // An event that is refused here is refused by every client.
            let _ = fold.apply(EventRef::from(event));
        }
        fold.messages().to_vec()
    }
}

/// A log that is read or written. It waits for a store that is full or out of reach until the turn is released.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) turn: StoredTurn,
    pub(crate) stored: Stored,
    /// Cancelled when the turn is released, which ends all waiting.
    pub(crate) leave: CancellationToken,
    /// The error for which the log waits.
    pub(crate) trouble: watch::Sender<Option<StoreError>>,
}

impl EventWriter {
    /// Continues a stored log at its end.
    pub(crate) fn stored(log: Log, written: &Written) -> Self {
        let mut order = ValidOrder::default();
        for event in &written.events {
            order.note_sent(event);
        }
        let next = written.next;
        let (sender, receiver) = mpsc::channel(WAITING);
        let failed = CancellationToken::new();
        let trouble = log.trouble.subscribe();
        let task = tokio::spawn(log.write(next, receiver, failed.clone()));
        Self {
            order,
            sender,
            task,
            failed,
            trouble,
        }
    }

    /// Waits until nothing can be written any more.
    pub(crate) fn failed(&self) -> BoxFuture<'static, ()> {
        self.failed.clone().cancelled_owned().boxed()
    }

    /// Returns what keeps the log waiting, if anything does.
    pub(crate) fn trouble(&self) -> watch::Receiver<Option<StoreError>> {
        self.trouble.clone()
    }

    /// Waits until there is room for what one event of the turn may become, or until nothing can be written any more.
    pub(crate) async fn room(&self) {
        drop(self.sender.reserve_many(ROOM).await);
    }

    /// Returns whether there is room for the events that one event of the turn may become.
    pub(crate) fn has_room(&self) -> bool {
        self.sender.capacity() >= ROOM
    }

    /// Appends an event, once there is room.
    pub(crate) async fn append(&mut self, event: Event) {
        self.put(event, Vec::new()).await;
    }

    /// Appends an event, as [`append`](Self::append) does, which is written once the fact is stored.
    pub(crate) async fn append_fact(&mut self, event: Event, fact: Fact) {
        self.put(event, vec![fact]).await;
    }

    /// Appends an event, as [`append_fact`](Self::append_fact) does, which is written once all of the facts are stored.
    pub(crate) async fn append_facts(&mut self, event: Event, facts: Vec<Fact>) {
        self.put(event, facts).await;
    }

    async fn put(&mut self, event: Event, of: Vec<Fact>) {
        let is_urgent = !is_delta(&event);
        let Some(event) = self.order.admit(event) else {
            return;
        };
        match serde_json::to_string(&event) {
            Ok(json) => {
                let entry = Entry {
                    json,
                    is_urgent,
                    of,
                };
                // A writer that has ended has logged why.
                let _ = self.sender.send(entry).await;
            }
            Err(error) => {
                tracing::error!(target: "stepwell", %error, kind = event.kind(), "an event cannot be written");
            }
        }
    }

    /// Closes what an owner before has left open.
    pub(crate) async fn close_open_items(&mut self) {
        for end in self.order.ends() {
            self.append(end).await;
        }
    }

    /// Writes the end of the turn, and waits until all is stored.
    pub(crate) async fn end(mut self, event: Event) -> Result<(), StoreError> {
        if matches!(event, Event::RunFinished(_)) {
            self.close_open_items().await;
        }
        self.append(event).await;
        self.finish().await
    }

    /// Waits until all is stored.
    pub(crate) async fn finish(self) -> Result<(), StoreError> {
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

/// Reads the log of a turn. Events that cannot be read, of a later version say, are skipped.
pub(crate) async fn read(
    store: &Arc<dyn Store>,
    turn: &TurnKey,
    leave: &CancellationToken,
) -> Result<Written, StoreError> {
    let trouble = watch::Sender::default();
    let waits = Waits {
        turn,
        leave,
        trouble: &trouble,
    };
    let mut written = Written::default();
    loop {
        let after = written.next.checked_sub(1);
        let page = waits.patiently(|| store.events(turn, after, PAGE)).await?;
        if page.is_empty() {
            return Ok(written);
        }
        for logged in &page {
            match serde_json::from_str::<Event>(&logged.data) {
                Ok(event) => written.events.push(event),
                Err(error) => {
                    let index = logged.index;
                    tracing::error!(target: "stepwell", %turn, index, %error, "an event of the log cannot be read, and is passed over");
                }
            }
            written.next = logged.index + 1;
        }
    }
}

impl Log {
    async fn write(
        self,
        mut next: u64,
        mut entries: mpsc::Receiver<Entry>,
        failed: CancellationToken,
    ) -> Result<(), StoreError> {
        let _failed = failed.drop_guard();
        let mut may_write_at = Instant::now();
        let mut first = entries.recv().await;
        while let Some(entry) = first.take() {
            for fact in &entry.of {
                let is_stored = tokio::select! {
                    biased;
                    is_stored = self.stored.until(fact) => is_stored,
                    () = self.leave.cancelled() => false,
                };
                if !is_stored && self.leave.is_cancelled() {
                    // The next owner of the turn does not know of this event.
                    return Ok(());
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
                let is_early = |fact: &Fact| !self.stored.has(fact);
                if entry.of.iter().any(is_early) {
                    // The events before it must not wait for it.
                    first = Some(entry);
                    break;
                }
                is_urgent |= entry.is_urgent;
                batch.push(entry.json);
            }
            let (store, turn) = (&self.store, &self.turn);
            let append = || store.append_events(&turn.key, turn.generation, next, &batch);
            let waits = Waits {
                turn: &turn.key,
                leave: &self.leave,
                trouble: &self.trouble,
            };
            waits.patiently(append).await?;
            next += batch.len() as u64;
            may_write_at = Instant::now() + INTERVAL;
            if first.is_none() {
                first = entries.recv().await;
            }
        }
        Ok(())
    }
}

/// A store that is tried until the turn is released.
struct Waits<'a> {
    turn: &'a TurnKey,
    leave: &'a CancellationToken,
    trouble: &'a watch::Sender<Option<StoreError>>,
}

impl Waits<'_> {
    /// Tries until the call succeeds, cannot succeed, or the turn is released. The store takes the same batch twice.
    async fn patiently<'a, T>(
        &self,
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
            tracing::warn!(target: "stepwell", turn = %self.turn, %error, "the log waits for the store");
            self.trouble.send_if_modified(|trouble| {
                let is_new = trouble.as_ref() != Some(&error);
                *trouble = Some(error.clone());
                is_new
            });
            tokio::select! {
                biased;
                () = self.leave.cancelled() => return Err(error),
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Returns whether the same call may succeed later.
fn may_pass(error: &StoreError) -> bool {
    error.is_transient() || matches!(error, StoreError::ReadOnly { .. })
}
