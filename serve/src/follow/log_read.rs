//! Reads of a turn's log, a part at a time.

use super::follow::Head;
use super::followers::{Followers, HeldPage, MAX_PAGE_BYTES};
use crate::engine::Reader;
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::store::{Store, StoreError, TurnKey};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many events are read from the store at once.
const PAGE: usize = 256;

/// Reads a turn's log from any place on.
#[derive(Debug)]
pub(crate) struct LogRead {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) turn: TurnKey,
    pub(crate) followers: Followers,
    /// The server stops.
    pub(crate) let_go: CancellationToken,
    /// Counts as a reader of the turn's run.
    pub(crate) _reader: Option<Reader>,
}

/// A part of a log.
#[derive(Debug)]
pub(crate) struct LogPart {
    /// The events, as a JSON array.
    pub(crate) json: String,
    pub(crate) is_empty: bool,
    /// The place after them.
    pub(crate) next: u64,
    /// Whether the log has no more at the moment.
    pub(crate) is_up_to_date: bool,
    /// Whether the log has no more, and never will.
    pub(crate) is_closed: bool,
    /// Whether earlier events were dropped.
    pub(crate) is_gone: bool,
    _held: Option<HeldPage>,
}

impl LogRead {
    /// Returns the place after the last event.
    pub(crate) async fn end(&self) -> Result<u64, StoreError> {
        Ok(self.store.event_log(&self.turn).await?.next)
    }

    /// Reads what follows a place: up to 64 KiB, or one event that is longer. `close` closes the connection that it is for.
    pub(crate) async fn part(
        &self,
        from: u64,
        close: &CancellationToken,
    ) -> Result<LogPart, StoreError> {
        // Looked at first: what an open turn has logged by then may not be all.
        let thread = self.store.thread(&self.turn.thread).await?;
        let unfinished = thread.and_then(|thread| thread.unfinished);
        let is_open = unfinished.is_some_and(|open| open.key == self.turn);
        // The semaphore is never closed.
        let reads = self.followers.reads().await.ok();
        let after = from.checked_sub(1);
        let events = self
            .store
            .events_within(&self.turn, after, PAGE, MAX_PAGE_BYTES);
        let events = events.await?;
        let bytes: usize = events.iter().map(|event| event.data.len()).sum();
        let held = (bytes > 0).then(|| self.followers.hold(bytes, close));
        drop(reads);
        let is_gone = events.first().is_some_and(|first| first.index > from);
        let next = events.last().map_or(from, |last| last.index + 1);
        let is_up_to_date = next >= self.end().await?;
        let ends = match events.last() {
            Some(last) => Head::of(&last.data).ends_run(),
            None => self.ends_with_run(next).await?,
        };
        let json: Vec<_> = events.iter().map(|event| &*event.data).collect();
        Ok(LogPart {
            json: format!("[{}]", json.join(",")),
            is_empty: events.is_empty(),
            next,
            is_up_to_date,
            is_closed: is_up_to_date && !is_open && ends,
            is_gone,
            _held: held,
        })
    }

    /// Returns whether the event before a place is the end of a run.
    async fn ends_with_run(&self, place: u64) -> Result<bool, StoreError> {
        let Some(last) = place.checked_sub(1) else {
            return Ok(false);
        };
        let events = self.store.events(&self.turn, last.checked_sub(1), 1);
        let events = events.await?;
        Ok(events
            .first()
            .is_some_and(|event| Head::of(&event.data).ends_run()))
    }

    /// Waits until there is an event after a place, or never will be, or the time is over. Returns the events that
    /// there are then.
    pub(crate) async fn wait(
        &self,
        from: u64,
        longest: Duration,
        close: &CancellationToken,
    ) -> Result<LogPart, StoreError> {
        let until = Instant::now() + longest;
        let mut changes = self.store.subscribe(&self.turn.thread).await?;
        loop {
            let part = self.part(from, close).await?;
            let is_late = Instant::now() >= until || self.let_go.is_cancelled();
            if !part.is_empty || part.is_closed || is_late {
                return Ok(part);
            }
            tokio::select! {
                biased;
                () = changes.changed() => {}
                () = tokio::time::sleep_until(until) => {}
                () = self.let_go.cancelled() => {}
            }
        }
    }
}
