//! How long a store that does not answer is waited for.

use crate::store::{StoreError, StoreFuture};
use std::time::Duration;
use stepwell_core::run::{Durability, RunConfig};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// One call that takes longer has failed: the network may have swallowed it.
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// How often a call is tried, and how long the pauses between are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    attempts: u32,
    first_delay: Duration,
    max_delay: Duration,
}

impl Patience {
    /// As often as the configuration says of writes, with the pauses that it says of requests.
    pub(crate) fn of(config: &RunConfig) -> Self {
        let attempts = match config.durability {
            Durability::Blocks { attempts } => attempts.max(1),
            Durability::None => 1,
        };
        Self {
            attempts,
            first_delay: config.retry.first_delay,
            max_delay: config.retry.max_delay,
        }
    }

    /// The pause before the try that follows so many failures.
    pub(crate) fn pause(&self, failures: u32) -> Duration {
        match failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => {
                let doubled = self.first_delay.saturating_mul(1 << doublings.min(20));
                doubled.min(self.max_delay)
            }
        }
    }

    /// Tries until it is done, cannot be done, or has been tried often enough. Who waits is told; who gives up waiting
    /// cuts the pauses short, never a call: it may have been done.
    pub(crate) async fn call<'a, T>(
        &self,
        notices: &Notices,
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

/// One call, which does not take for ever.
pub(crate) async fn in_time<T>(call: StoreFuture<'_, T>) -> Result<T, StoreError> {
    let answer = tokio::time::timeout(LONGEST_CALL, call).await;
    answer.unwrap_or_else(|_| {
        Err(StoreError::Unavailable {
            message: format!("no answer in {} s", LONGEST_CALL.as_secs()),
        })
    })
}

/// Where the app is told that its turn waits for the store: in words, since each turn has room for many notices.
#[derive(Clone, Debug)]
pub(crate) struct Notices(pub(crate) mpsc::UnboundedSender<String>);

impl Notices {
    pub(crate) fn warn(&self, message: String) {
        tracing::warn!(target: "stepwell", message);
        // A turn whose app has let go of it goes on.
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

    fn patience() -> Patience {
        Patience {
            attempts: 6,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(8),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_away_for_ten_seconds_is_waited_for() {
        let (sender, mut notices) = mpsc::unbounded_channel();
        let begun = Instant::now();
        let call = || {
            let is_back = begun.elapsed() >= Duration::from_secs(10);
            let answer = if is_back { Ok(()) } else { Err(away()) };
            std::future::ready(answer).boxed()
        };
        let never = CancellationToken::new();
        let done = patience().call(&Notices(sender), &never, call).await;
        assert_eq!(done, Ok(()));
        assert_eq!(begun.elapsed(), Duration::from_millis(15_500));
        let mut told = 0;
        while notices.try_recv().is_ok() {
            told += 1;
        }
        assert_eq!(told, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_never_answered_has_failed() {
        let (sender, _notices) = mpsc::unbounded_channel();
        let one = Patience {
            attempts: 1,
            ..patience()
        };
        let never = CancellationToken::new();
        let call = || std::future::pending::<Result<(), _>>().boxed();
        let failed = one.call(&Notices(sender), &never, call).await;
        assert!(
            matches!(failed, Err(StoreError::Unavailable { .. })),
            "{failed:?}"
        );
    }
}
