//! A timer whose time moves on with each chunk of a stream.

use std::future::pending;
use std::pin::Pin;
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that takes its time at each wait. The timer below is reset only when it has elapsed, or would elapse too
/// late: a reset costs more than the chunk that moved the time.
pub(crate) struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    pub(crate) fn new() -> Self {
        Self(Box::pin(sleep_until(Instant::now())))
    }

    /// Waits until the time; without a time, for ever. The future can be dropped, and a new wait begun.
    pub(crate) async fn at(&mut self, time: Option<Instant>) {
        let Some(time) = time else {
            return pending().await;
        };
        if self.0.deadline() > time {
            self.0.as_mut().reset(time);
        }
        loop {
            self.0.as_mut().await;
            if Instant::now() >= time {
                return;
            }
            self.0.as_mut().reset(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn elapses_at_its_last_time() {
        let start = Instant::now();
        let mut alarm = Alarm::new();
        assert_eq!(alarm.at(Some(start + SECOND)).now_or_never(), None);
        // Later, and earlier.
        alarm.at(Some(start + 5 * SECOND)).await;
        assert_eq!(start.elapsed(), 5 * SECOND);
        assert_eq!(alarm.at(Some(start + 60 * SECOND)).now_or_never(), None);
        alarm.at(Some(start + 7 * SECOND)).await;
        assert_eq!(start.elapsed(), 7 * SECOND);
        // A time in the past elapses at once, and no time never.
        assert_eq!(alarm.at(Some(start)).now_or_never(), Some(()));
        assert_eq!(alarm.at(None).now_or_never(), None);
    }
}
