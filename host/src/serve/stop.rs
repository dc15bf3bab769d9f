//! Why a run is stopped before its end.

use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Why a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The client has gone away.
    ClientLeft,
    /// Another run has taken its thread, or the server stops.
    Cancelled,
    /// It has taken too long.
    OutOfTime,
    /// Its store was full or out of reach for too long.
    StoreAway,
}

/// What may stop a run from outside.
#[derive(Debug)]
pub(super) struct StopSignal {
    pub(super) cancel: CancellationToken,
    deadline: Instant,
}

impl StopSignal {
    pub(super) fn new(cancel: CancellationToken, run_time: Duration) -> Self {
        let now = Instant::now();
        // A time beyond what can be counted is no limit: thirty years are none either.
        let never = now + Duration::from_secs(30 * 365 * 86_400);
        Self {
            cancel,
            deadline: now.checked_add(run_time).unwrap_or(never),
        }
    }

    /// Waits until the run is to be stopped.
    pub(super) async fn wait(&self) -> Stop {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Stop::Cancelled,
            () = tokio::time::sleep_until(self.deadline) => Stop::OutOfTime,
        }
    }
}
