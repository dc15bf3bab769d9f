//! The next attempt of a request that failed, or of a stream that broke.

use super::Run;
use super::data::{State, Waiting};
use crate::run::protocol::{Deadline, Failure, OfflinePolicy, TimerKey};
use std::time::Duration;

impl<S: State> Run<S> {
    /// Plans the pause before the next attempt, if the table of retries allows one; returns the failure otherwise.
    pub(super) fn plan_retry(
        &mut self,
        attempt: u32,
        failure: Failure,
        retry_after: Option<Duration>,
    ) -> Result<Waiting, Failure> {
        let turn = &mut *self.turn;
        if turn.network().is_offline() && is_of_the_network(&failure) {
            return self.plan_offline(attempt, failure);
        }
        let Some(kind) = failure.retried_as() else {
            return Err(failure);
        };
        let Some(delay) = turn.plan_try(kind, retry_after) else {
            return Err(failure);
        };
        let next = attempt.saturating_add(1);
        turn.clocks_mut().stop(TimerKey::Silence);
        turn.clocks_mut().set(TimerKey::Retry, Some(delay));
        turn.retrying(kind, next, delay, failure.to_string());
        let not_before = retry_after.map(|wait| turn.clocks().now().after(wait));
        Ok(Waiting::new(next, not_before))
    }

    /// Plans the pause before the next hop asks for the answer again, of which a part was shown; `None` if the table allows
    /// no such retry.
    pub(super) fn plan_retry_after_text(
        &mut self,
        failure: &Failure,
        retry_after: Option<Duration>,
    ) -> Option<Waiting> {
        let turn = &mut *self.turn;
        let kind = failure.retried_as()?;
        if turn.network().is_offline() && is_of_the_network(failure) {
            if turn.config().device.offline == OfflinePolicy::Fail || !turn.may_ask_after_text(kind)
            {
                return None;
            }
            turn.ask_next_hop();
            turn.cut_answer(Vec::new());
            turn.clocks_mut().stop(TimerKey::Silence);
            turn.await_network();
            return Some(Waiting::for_next_hop(None));
        }
        let delay = turn.plan_try_after_text(kind, retry_after)?;
        turn.cut_answer(Vec::new());
        turn.clocks_mut().stop(TimerKey::Silence);
        turn.clocks_mut().set(TimerKey::Retry, Some(delay));
        let attempt = turn.retries_after_text();
        turn.retrying(kind, attempt, delay, failure.to_string());
        let not_before = retry_after.map(|wait| turn.clocks().now().after(wait));
        Some(Waiting::for_next_hop(not_before))
    }

    /// Plans the next attempt without a network: it waits for one, and the failed one does not count.
    fn plan_offline(&mut self, attempt: u32, failure: Failure) -> Result<Waiting, Failure> {
        let turn = &mut *self.turn;
        if turn.config().device.offline == OfflinePolicy::Fail {
            return Err(failure);
        }
        turn.clocks_mut().stop(TimerKey::Silence);
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
