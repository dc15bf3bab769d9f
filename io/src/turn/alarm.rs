//! A timer whose time moves on with each piece of a stream.

use std::future::pending;
use std::pin::Pin;
use tokio::time::{Instant, Sleep, sleep_until};

/// Goes off at a time that is told anew at each wait. The timer below is moved only when it has gone off, or would go
/// off too late: to move it costs more than the piece of the stream that its time moves with.
pub(crate) struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    pub(crate) fn new() -> Self {
        Self(Box::pin(sleep_until(Instant::now())))
    }

    /// Waits until then; without a time, for ever. Can be dropped and waited for again.
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
    async fn it_goes_off_at_the_time_that_it_was_told_last() {
        let start = Instant::now();
        let mut alarm = Alarm::new();
        assert_eq!(alarm.at(Some(start + SECOND)).now_or_never(), None);
        // Later, and earlier.
        alarm.at(Some(start + 5 * SECOND)).await;
        assert_eq!(start.elapsed(), 5 * SECOND);
        assert_eq!(alarm.at(Some(start + 60 * SECOND)).now_or_never(), None);
        alarm.at(Some(start + 7 * SECOND)).await;
        assert_eq!(start.elapsed(), 7 * SECOND);
        // What has passed is at once, and none is never.
        assert_eq!(alarm.at(Some(start)).now_or_never(), Some(()));
        assert_eq!(alarm.at(None).now_or_never(), None);
    }
}
