//! Writes the events of a run for the one client that waits for them, in the order that the protocol allows.

use crate::turn::valid_order::ValidOrder;
use crate::wire::event_log::LogWriter;
use futures::FutureExt;
use futures::future::BoxFuture;
use stepwell_core::ToolCallId;
use stepwell_core::dialect::ClientVersion;
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::Event;

/// The writer of a run's events. A client that reads slowly delays the run.
#[derive(Debug)]
pub(crate) struct RunWriter {
    order: ValidOrder,
    log: LogWriter,
    version: ClientVersion,
}

impl RunWriter {
    pub(crate) fn new(log: LogWriter, version: ClientVersion) -> Self {
        Self {
            order: ValidOrder::default(),
            log,
            version,
        }
    }

    /// Waits until no client reads the run any more.
    pub(crate) fn abandoned(&self) -> BoxFuture<'static, ()> {
        self.log.abandoned().boxed()
    }

    /// Waits until there is room.
    pub(crate) async fn room(&self) {
        self.log.room().await;
    }

    /// Appends an event, whether there is room or not.
    pub(crate) fn append(&mut self, event: Event) {
        if let Some(event) = self.order.admit(event)
            && let Some(event) = self.version.adapt(&event)
        {
            self.log.append(&event);
        }
    }

    /// Notes the final status of a call, whose result is reported next.
    pub(crate) fn note(&mut self, call: &ToolCallId, status: ToolCallStatus) {
        self.log.note(call, status);
    }

    /// Writes the end of the run.
    pub(crate) fn end(mut self, event: Event) {
        if matches!(event, Event::RunFinished(_)) {
            for end in self.order.ends() {
                self.append(end);
            }
        }
        self.append(event);
    }
}
