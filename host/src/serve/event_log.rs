//! The events of one run, numbered, between the task that drives the run and the response that reads them.
//!
//! The log is a thing of its own: the run knows no connection, and the response knows no run. What a reader has taken is
//! dropped, and a writer waits while too much is unread, so that a slow reader holds up its run instead of filling the
//! memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_io::Event;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// So many bytes may be unread before the writer waits.
const WINDOW: usize = 16 << 10;

/// One event of a run.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    /// Its place in the run, from 0.
    pub(super) index: u64,
    /// The event as JSON.
    pub(super) json: Vec<u8>,
    /// When it was written into the log.
    pub(super) written: Instant,
}

#[derive(Debug, Default)]
struct Shared {
    unread: Mutex<Unread>,
    /// Something was written, or the writer is gone.
    written: Notify,
    /// Something was read, or the reader is gone.
    read: Notify,
    /// Cancelled when the reader is gone.
    left: CancellationToken,
}

#[derive(Debug, Default)]
struct Unread {
    entries: VecDeque<Entry>,
    bytes: usize,
    next: u64,
    is_over: bool,
    /// The reader is gone.
    is_left: bool,
}

impl Shared {
    fn unread(&self) -> MutexGuard<'_, Unread> {
        // Nothing is left half-done under the lock.
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The run's side of a log. Dropping it ends the log.
#[derive(Debug)]
pub(super) struct LogWriter(Arc<Shared>);

/// The response's side of a log. Dropping it lets go of the run.
#[derive(Debug)]
pub(super) struct LogReader(Arc<Shared>);

/// An empty log.
pub(super) fn event_log() -> (LogWriter, LogReader) {
    let shared = Arc::<Shared>::default();
    (LogWriter(Arc::clone(&shared)), LogReader(shared))
}

impl LogWriter {
    /// Waits until the log takes more, or nobody reads it any more.
    pub(super) async fn room(&self) {
        while !self.has_room() {
            self.0.read.notified().await;
        }
    }

    /// Whether the log takes more, or nobody reads it any more.
    pub(super) fn has_room(&self) -> bool {
        let unread = self.0.unread();
        unread.bytes < WINDOW || unread.is_left
    }

    /// Appends an event, whether there is room or not. An event that cannot be written as JSON is left out.
    pub(super) fn append(&self, event: &Event) {
        if self.0.unread().is_left {
            return;
        }
        let json = match serde_json::to_vec(event) {
            Ok(json) => json,
            Err(error) => {
                tracing::error!(target: "stepwell", %error, kind = event.kind(), "an event cannot be written");
                return;
            }
        };
        let mut unread = self.0.unread();
        let index = unread.next;
        unread.next += 1;
        unread.bytes += json.len();
        unread.entries.push_back(Entry {
            index,
            json,
            written: Instant::now(),
        });
        drop(unread);
        self.0.written.notify_one();
    }

    /// Waits until nobody reads the log any more.
    pub(super) fn abandoned(&self) -> WaitForCancellationFutureOwned {
        self.0.left.clone().cancelled_owned()
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.0.unread().is_over = true;
        self.0.written.notify_one();
    }
}

impl LogReader {
    /// The next event; nothing once the run is over and all is read. Can be dropped and asked again: nothing is lost.
    pub(super) async fn next(&mut self) -> Option<Entry> {
        loop {
            // In this order: what is written before the end is read before it.
            let is_over = self.0.unread().is_over;
            if let Some(entry) = self.next_unread() {
                return Some(entry);
            }
            if is_over {
                return None;
            }
            self.0.written.notified().await;
        }
    }

    /// The next event, if it is there.
    pub(super) fn next_unread(&mut self) -> Option<Entry> {
        let mut unread = self.0.unread();
        let entry = unread.entries.pop_front()?;
        unread.bytes -= entry.json.len();
        drop(unread);
        self.0.read.notify_one();
        Some(entry)
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        let mut unread = self.0.unread();
        unread.is_left = true;
        unread.entries.clear();
        unread.bytes = 0;
        drop(unread);
        self.0.left.cancel();
        self.0.read.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use stepwell_core::event::TextMessageContent;

    fn piece(length: usize) -> Event {
        Event::from(TextMessageContent {
            message_id: "m".into(),
            delta: "x".repeat(length),
            ..TextMessageContent::default()
        })
    }

    #[tokio::test]
    async fn events_are_read_in_order_with_their_numbers_to_the_end() {
        let (writer, mut reader) = event_log();
        writer.append(&piece(1));
        writer.append(&piece(2));
        assert_eq!(reader.next().await.map(|entry| entry.index), Some(0));
        assert!(
            reader
                .next()
                .await
                .is_some_and(|entry| entry.json.ends_with(b"\"xx\"}"))
        );
        assert_eq!(reader.next().now_or_never(), None, "it waits for the run");
        drop(writer);
        assert_eq!(reader.next().await, None);
    }

    #[tokio::test]
    async fn a_writer_waits_for_a_slow_reader() {
        let (writer, mut reader) = event_log();
        writer.append(&piece(WINDOW));
        assert!(writer.room().now_or_never().is_none());
        assert!(reader.next().await.is_some());
        writer.room().await;
    }

    #[tokio::test]
    async fn a_writer_waits_for_no_reader_that_is_gone() {
        let (writer, reader) = event_log();
        writer.append(&piece(WINDOW));
        assert!(writer.abandoned().now_or_never().is_none());
        drop(reader);
        writer.room().await;
        writer.abandoned().await;
        writer.append(&piece(WINDOW));
        assert_eq!(writer.0.unread().bytes, 0, "nothing is kept for nobody");
    }
}
