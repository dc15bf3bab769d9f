//! The events of one run, numbered, between the task that drives the run and the response that reads them.
//!
//! The log is a thing of its own: the run knows no connection, and the response knows no run. What a reader has taken is
//! dropped, and a writer waits while too much is unread, so that a slow reader holds up its run instead of filling the
//! memory.

use crate::wire::format::Format;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::ToolCallId;
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::Event;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The number of unread bytes from which on the writer waits.
const WINDOW: usize = 16 << 10;

/// One event of a run.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// Its place in the run, from 0.
    pub index: u64,
    /// The event as the run's [`Format`] has it.
    pub json: Vec<u8>,
}

#[derive(Debug, Default)]
struct Shared {
    unread: Mutex<Unread>,
    /// Notified when an event was written, or the writer dropped.
    written: Notify,
    /// Notified when an event was read, or the reader dropped.
    read: Notify,
    /// Cancelled when the reader is dropped.
    left: CancellationToken,
}

#[derive(Debug, Default)]
struct Unread {
    entries: VecDeque<Entry>,
    bytes: usize,
    next: u64,
    is_over: bool,
    /// Whether the reader is dropped.
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
pub(crate) struct LogWriter {
    shared: Arc<Shared>,
    format: Format,
}

/// A stream of a run's events as they are emitted, each in the run's [`Format`]. Dropping the stream stops the run.
#[derive(Debug)]
pub struct EventStream(Arc<Shared>);

/// An empty log, whose events are written in this format.
pub(crate) fn event_log(format: Format) -> (LogWriter, EventStream) {
    let shared = Arc::<Shared>::default();
    let writer = LogWriter {
        shared: Arc::clone(&shared),
        format,
    };
    (writer, EventStream(shared))
}

impl LogWriter {
    /// Waits until the log takes more, or has no reader any more.
    pub(crate) async fn room(&self) {
        while !self.has_room() {
            self.shared.read.notified().await;
        }
    }

    /// Returns whether the log takes more, or has no reader any more.
    pub(crate) fn has_room(&self) -> bool {
        let unread = self.shared.unread();
        unread.bytes < WINDOW || unread.is_left
    }

    /// Appends an event, whether there is room or not. An event that cannot be written as JSON is left out.
    pub(crate) fn append(&mut self, event: &Event) {
        if self.shared.unread().is_left {
            return;
        }
        let json = match self.format.write(event) {
            Ok(json) => json,
            Err(error) => {
                tracing::error!(target: "stepwell", %error, kind = event.kind(), "an event cannot be written");
                return;
            }
        };
        if json.is_empty() {
            return;
        }
        let mut unread = self.shared.unread();
        let index = unread.next;
        unread.next += 1;
        unread.bytes += json.len();
        unread.entries.push_back(Entry { index, json });
        drop(unread);
        self.shared.written.notify_one();
    }

    /// Notes the final status of a call, whose result is reported next.
    pub(crate) fn note(&mut self, call: &ToolCallId, status: ToolCallStatus) {
        self.format.note(call, status);
    }

    /// Waits until the log has no reader any more.
    pub(crate) fn abandoned(&self) -> WaitForCancellationFutureOwned {
        self.shared.left.clone().cancelled_owned()
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.shared.unread().is_over = true;
        self.shared.written.notify_one();
    }
}

impl EventStream {
    /// The next event; nothing once the run is over and all is read. Can be dropped and asked again: nothing is lost.
    pub async fn next(&mut self) -> Option<Entry> {
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
    pub fn next_unread(&mut self) -> Option<Entry> {
        let mut unread = self.0.unread();
        let entry = unread.entries.pop_front()?;
        unread.bytes -= entry.json.len();
        drop(unread);
        self.0.read.notify_one();
        Some(entry)
    }
}

impl Drop for EventStream {
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
        let (mut writer, mut reader) = event_log(Format::AgUi);
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
        let (mut writer, mut reader) = event_log(Format::AgUi);
        writer.append(&piece(WINDOW));
        assert!(writer.room().now_or_never().is_none());
        assert!(reader.next().await.is_some());
        writer.room().await;
    }

    #[tokio::test]
    async fn a_writer_waits_for_no_reader_that_is_gone() {
        let (mut writer, reader) = event_log(Format::AgUi);
        writer.append(&piece(WINDOW));
        assert!(writer.abandoned().now_or_never().is_none());
        drop(reader);
        writer.room().await;
        writer.abandoned().await;
        writer.append(&piece(WINDOW));
        assert_eq!(
            writer.shared.unread().bytes,
            0,
            "nothing is kept for nobody"
        );
    }
}
