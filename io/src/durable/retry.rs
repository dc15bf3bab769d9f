//! Calls of a store that are tried again.

use crate::store::{StoreError, StoreFuture};
use std::time::Duration;
use stepwell_core::run::{Durability, RunConfig};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The time after which a call has failed: the network may have swallowed it.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of attempts of a call, and the pauses between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreRetry {
    attempts: u32,
    first_delay: Duration,
    max_delay: Duration,
}

impl StoreRetry {
    /// Takes the attempts of writes and the pauses of requests from the configuration.
    pub(crate) fn from_config(config: &RunConfig) -> Self {
        let attempts = match config.durability {
            Durability::Blocks { attempts } => attempts.max(1),
            _ => 1,
        };
        Self {
            attempts,
            first_delay: config.retry.first_delay,
            max_delay: config.retry.max_delay,
        }
    }

    /// Returns the pause after this number of failures.
    pub(crate) fn pause(&self, failures: u32) -> Duration {
        match failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => {
                let doubled = self.first_delay.saturating_mul(1 << doublings.min(20));
                doubled.min(self.max_delay)
            }
        }
    }

    /// Calls the store until the call succeeds, fails for good, or has failed too often. `given_up` cuts the pauses
    /// short, but never a call, which may succeed. The app gets a notice of each pause.
    pub(crate) async fn call<'a, T>(
        &self,
        notices: &StoreNotices,
        given_up: &CancellationToken,
        mut call: impl FnMut() -> StoreFuture<'a, T>,
    ) -> Result<T, StoreError> {
        let mut failures = 0;
        loop {
            let error = match in_time(call()).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            failures += 1;
            if !error.is_transient() || failures >= self.attempts || given_up.is_cancelled() {
                return Err(error);
            }
            notices.waiting(&error, self.pause(failures));
            tokio::select! {
                biased;
                () = given_up.cancelled() => return Err(error),
                () = tokio::time::sleep(self.pause(failures)) => {}
            }
        }
    }
}

/// Limits the time of a call.
pub(crate) async fn in_time<T>(call: StoreFuture<'_, T>) -> Result<T, StoreError> {
    let answer = tokio::time::timeout(CALL_TIMEOUT, call).await;
    answer.unwrap_or_else(|_| {
        Err(StoreError::Unavailable {
            message: format!("no answer in {} s", CALL_TIMEOUT.as_secs()),
        })
    })
}

/// Sends the app notices that its turn waits for the store. They are texts: each turn has room for many.
#[derive(Clone, Debug)]
pub(crate) struct StoreNotices(pub(crate) mpsc::UnboundedSender<String>);

impl StoreNotices {
    pub(crate) fn warn(&self, message: String) {
        tracing::warn!(target: "stepwell", message);
        // The turn may continue without the app.
        let _ = self.0.send(message);
    }

    pub(crate) fn waiting(&self, error: &StoreError, pause: Duration) {
        let seconds = pause.as_secs_f64();
        self.warn(format!(
            "the turn waits for its store, and tries again in {seconds:.1} s: {error}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use tokio::time::Instant;

    fn away() -> StoreError {
        StoreError::Unavailable {
            message: "no route".to_owned(),
        }
    }

    fn retry() -> StoreRetry {
        StoreRetry {
            attempts: 6,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(8),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn retries_for_ten_seconds() {
        let (sender, mut notices) = mpsc::unbounded_channel();
        let begun = Instant::now();
        let call = || {
            let is_back = begun.elapsed() >= Duration::from_secs(10);
            let answer = if is_back { Ok(()) } else { Err(away()) };
            std::future::ready(answer).boxed()
        };
        let never = CancellationToken::new();
        let done = retry().call(&StoreNotices(sender), &never, call).await;
        assert_eq!(done, Ok(()));
        assert_eq!(begun.elapsed(), Duration::from_millis(15_500));
        let mut told = 0;
        while notices.try_recv().is_ok() {
            told += 1;
        }
        assert_eq!(told, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn fails_a_call_without_answer() {
        let (sender, _notices) = mpsc::unbounded_channel();
        let one = StoreRetry {
            attempts: 1,
            ..retry()
        };
        let never = CancellationToken::new();
        let call = || std::future::pending::<Result<(), _>>().boxed();
        let failed = one.call(&StoreNotices(sender), &never, call).await;
        assert!(
            matches!(failed, Err(StoreError::Unavailable { .. })),
            "{failed:?}"
        );
    }
}
