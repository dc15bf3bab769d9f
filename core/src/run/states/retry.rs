//! The next attempt of a request that failed, or of a stream that broke.

use super::Run;
use super::data::{State, Waiting};
use crate::run::protocol::{Deadline, Failure, OfflinePolicy, RetryPolicy, RunEvent, TimerKey};
use std::time::Duration;

impl<S: State> Run<S> {
    /// Plans the pause before the next attempt, if the policy allows one; returns the failure otherwise.
    pub(super) fn plan_retry(
        &mut self,
        attempt: u32,
        failure: Failure,
        retry_after: Option<Duration>,
    ) -> Result<Waiting, Failure> {
        let turn = &mut *self.turn;
        let RetryPolicy {
            attempts,
            max_retry_after,
            ..
        } = turn.config().retry;
        if turn.network().is_offline() && is_of_the_network(&failure) {
            return self.plan_offline(attempt, failure);
        }
        let next = attempt.saturating_add(1);
        let tries = turn.network().counted(next);
        if !failure.is_transient()
            || tries >= attempts
            || retry_after.is_some_and(|wait| wait > max_retry_after)
        {
            return Err(failure);
        }
        let backoff = turn.config().retry.delay(turn.id(), turn.hop(), tries);
        let delay = retry_after.map_or(backoff, |wait| wait.max(backoff));
        turn.clocks_mut().stop(TimerKey::Silence);
        turn.clocks_mut().set(TimerKey::Retry, Some(delay));
        turn.event(RunEvent::Retrying {
            attempt: next,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            reason: failure.to_string(),
        });
        let not_before = retry_after.map(|wait| turn.clocks().now().after(wait));
        Ok(Waiting::new(next, not_before))
    }

    /// Plans the next attempt without a network: it waits for one, and the failed one does not count.
    fn plan_offline(&mut self, attempt: u32, failure: Failure) -> Result<Waiting, Failure> {
        let turn = &mut *self.turn;
        if turn.config().device.offline == OfflinePolicy::Fail {
            return Err(failure);
        }
        turn.clocks_mut().stop(TimerKey::Silence);
        turn.network_mut().excuse_try();
        turn.await_network();
        Ok(Waiting::new(attempt.saturating_add(1), None))
    }
}

/// Returns whether the lack of a network explains the failure.
fn is_of_the_network(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Connection { .. }
            // Tokens are got over it, too.
            | Failure::NotAuthorized { .. }
            | Failure::TimedOut {
                deadline: Deadline::Silence,
            }
    )
}
