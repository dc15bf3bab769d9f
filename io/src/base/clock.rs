use std::time::{Duration, SystemTime, UNIX_EPOCH};
use stepwell_core::Timestamp;
use tokio::time::Instant;

/// The wall clock at the start of a turn, and a monotonic clock from then on. It follows tokio's clock, so tests may
/// pause it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: u64,
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            epoch: u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX),
            start: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(self.epoch).after(self.start.elapsed())
    }

    /// Returns the instant of a timestamp, at most 30 years ahead.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        const MAX_WAIT: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
        self.start + at.since(Timestamp(self.epoch)).min(MAX_WAIT)
    }
}
