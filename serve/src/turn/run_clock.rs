//! How long a turn may take. While the user is asked, the clock is paused.

use std::time::Duration;
use tokio::time::Instant;

/// The time that a turn has left.
#[derive(Debug)]
pub(crate) struct RunClock {
    /// The time left when the clock runs again.
    left: Duration,
    /// Since when it runs.
    since: Option<Instant>,
}

impl RunClock {
    /// A clock that runs.
    pub(crate) fn new(time: Duration) -> Self {
        Self {
            left: time,
            since: Some(Instant::now()),
        }
    }

    /// Runs or pauses the clock.
    pub(crate) fn set(&mut self, runs: bool) {
        match (runs, self.since) {
            (false, Some(since)) => {
                self.left = self.left.saturating_sub(since.elapsed());
                self.since = None;
            }
            (true, None) => self.since = Some(Instant::now()),
            _ => {}
        }
    }

    /// Returns when the time is over, if the clock runs.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.since?.checked_add(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_question_is_not_the_turns() {
        let second = Duration::from_secs(1);
        let mut clock = RunClock::new(second * 10);
        advance(second * 4).await;
        clock.set(false);
        assert_eq!(clock.deadline(), None);
        advance(second * 100).await;
        clock.set(true);
        assert_eq!(clock.deadline(), Some(Instant::now() + second * 6));
    }
}
