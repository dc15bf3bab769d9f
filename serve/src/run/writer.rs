//! Writes what a run says to the one client that waits for it, held to what the protocol allows.

use crate::turn::lawful::Lawful;
use crate::wire::event_log::LogWriter;
use futures::FutureExt;
use futures::future::BoxFuture;
use stepwell_core::ToolCallId;
use stepwell_core::dialect::ClientVersion;
use stepwell_io::{Event, ToolCallStatus};

/// What a run says, for whoever drives it. A client that reads slowly holds the run up.
#[derive(Debug)]
pub(crate) struct RunWriter {
    lawful: Lawful,
    log: LogWriter,
    version: ClientVersion,
}

impl RunWriter {
    pub(crate) fn new(log: LogWriter, version: ClientVersion) -> Self {
        Self {
            lawful: Lawful::default(),
            log,
            version,
        }
    }

    /// Waits until nobody reads it any more.
    pub(crate) fn abandoned(&self) -> BoxFuture<'static, ()> {
        self.log.abandoned().boxed()
    }

    /// Waits until there is room.
    pub(crate) async fn room(&self) {
        self.log.room().await;
    }

    /// Appends an event, whether there is room or not.
    pub(crate) fn append(&mut self, event: Event) {
        if let Some(event) = self.lawful.admit(event)
            && let Some(event) = self.version.adapt(&event)
        {
            self.log.append(&event);
        }
    }

    /// A call has come to this: its result is about to be told.
    pub(crate) fn note(&mut self, call: &ToolCallId, status: ToolCallStatus) {
        self.log.note(call, status);
    }

    /// Writes the end of the run.
    pub(crate) fn end(mut self, event: Event) {
        if matches!(event, Event::RunFinished(_)) {
            for end in self.lawful.ends() {
                self.append(end);
            }
        }
        self.append(event);
    }
}
