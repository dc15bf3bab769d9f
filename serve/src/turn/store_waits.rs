//! A turn that waits for its store, for as long as it may.

use crate::turn::event_writer::EventWriter;
use crate::turn::store_trouble::StoreTrouble;
use std::time::Duration;
use stepwell_io::store::StoreError;
use stepwell_io::turn::TurnHandle;
use tokio::sync::watch;
use tokio::time::Instant;

/// What keeps a turn from being stored, and since when.
#[derive(Debug)]
pub(crate) struct StoreWaits {
    /// Of its blocks.
    blocks: watch::Receiver<Option<StoreError>>,
    /// Of its log.
    log: watch::Receiver<Option<StoreError>>,
    longest: Duration,
    /// When the turn gives up waiting.
    deadline: Option<Instant>,
    is_waiting: bool,
}

impl StoreWaits {
    pub(crate) fn new(turn: &TurnHandle, writer: &EventWriter, longest: Duration) -> Self {
        let mut waits = Self {
            blocks: turn.store_trouble(),
            log: writer.trouble(),
            longest,
            deadline: None,
            is_waiting: false,
        };
        // The turn's blocks may wait already.
        waits.blocks.mark_changed();
        waits
    }

    /// Waits until something else keeps the turn waiting, or nothing any more.
    pub(crate) async fn changed(&mut self) -> Option<StoreTrouble> {
        let (blocks, log) = (&mut self.blocks, &mut self.log);
        tokio::select! {
            biased;
            Ok(()) = blocks.changed() => {}
            Ok(()) = log.changed() => {}
            else => std::future::pending().await,
        }
        let trouble = {
            let blocks = self.blocks.borrow_and_update();
            let log = self.log.borrow_and_update();
            blocks.as_ref().or(log.as_ref()).map(StoreTrouble::from)
        };
        if trouble.is_some() != self.is_waiting {
            self.is_waiting = trouble.is_some();
            self.deadline = trouble.and_then(|_| Instant::now().checked_add(self.longest));
        }
        trouble
    }

    /// Returns when the turn gives up waiting, if it waits.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}
