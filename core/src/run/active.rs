use super::completed::Completed;
use super::config::RetryPolicy;
use super::core::Core;
use super::edges::{Edge, StateKind, on};
use super::effect::EffectId;
use super::fault::fault;
use super::outcome::{Deadline, Failure, Outcome};
use super::output::RunEvent;
use super::timer::TimerKey;
use super::typed::{Run, State};
use super::waiting::Waiting;
use crate::Timestamp;
use std::time::Duration;

/// A state from which a turn can be stopped: every one but [`Completed`].
pub trait Active: State + Edge<on::Cancel, Completed> {}

impl<S: Active> Run<S> {
    /// The person stops the turn. It is over at once: what runs is told to stop, and whatever still comes is dropped.
    /// The history stays legal: every call has a result, which says that it was cancelled.
    pub fn cancel(mut self, now: Timestamp) -> Run<Completed> {
        self.core.tick(now);
        if S::KIND == StateKind::Streaming {
            self.core.leave_stream();
        }
        self.core.close(&Outcome::Cancelled);
        self.goto(on::Cancel, Completed::new(Outcome::Cancelled))
    }
}

impl<S: Active + Edge<on::Fail, Completed>> Run<S> {
    pub(super) fn fail(mut self, failure: Failure) -> Run<Completed> {
        if S::KIND == StateKind::Streaming {
            self.core.leave_stream();
        }
        let outcome = Outcome::Failed { failure };
        self.core.close(&outcome);
        self.goto(on::Fail, Completed::new(outcome))
    }
}

impl<S: Active + Edge<on::Fail, Completed>> Run<S> {
    /// The host could not store the blocks of that write: it goes out again, as often as the configuration says.
    ///
    /// # Errors
    /// It failed too often: the turn is over.
    pub fn persist_failed(
        mut self,
        write: EffectId,
        message: String,
        now: Timestamp,
    ) -> Result<Self, Run<Completed>> {
        self.core.tick(now);
        if self.core.pending.stage(write).is_none() {
            return Ok(self);
        }
        if fault!(FailedWriteCountsAsStored) {
            self.core.stored(write);
            return Ok(self);
        }
        if self.core.recorder.not_stored() {
            self.core.write_again(write);
            return Ok(self);
        }
        self.core.answered(write);
        self.core.recorder.put_back();
        Err(self.fail(Failure::NotStored { message }))
    }

    /// The turn has taken too long ([`TimerKey::Turn`]).
    pub fn turn_timed_out(mut self, now: Timestamp) -> Run<Completed> {
        self.core.tick(now);
        self.fail(Failure::TimedOut {
            deadline: Deadline::Turn,
        })
    }
}

impl<S: State> Run<S> {
    /// The host stored the blocks of that write. What waited for it goes out. Said twice, it changes nothing.
    pub fn persisted(&mut self, write: EffectId, now: Timestamp) {
        self.core.tick(now);
        self.core.stored(write);
    }
}

/// Waits before the next try, if the policy allows one; else gives the failure back.
pub(super) fn plan_retry(
    core: &mut Core,
    attempt: u32,
    failure: Failure,
    retry_after: Option<Duration>,
) -> Result<Waiting, Failure> {
    let RetryPolicy {
        attempts,
        max_retry_after,
        ..
    } = core.config.retry;
    if let Some(plan) = core.plan_offline(attempt, &failure) {
        return plan;
    }
    let next = attempt.saturating_add(u32::from(!fault!(RetryNeverCounts)));
    let tries = next.saturating_sub(core.device.uncounted).max(1);
    if !failure.is_transient()
        || tries >= attempts
        || retry_after.is_some_and(|wait| wait > max_retry_after)
    {
        return Err(failure);
    }
    let backoff = core.config.retry.delay(&core.turn, core.hop, tries);
    let delay = retry_after.map_or(backoff, |wait| wait.max(backoff));
    core.timers.stop(TimerKey::Silence);
    let wake = core.clock().after(delay);
    core.timers.set(TimerKey::Retry, wake);
    core.event(RunEvent::Retrying {
        attempt: next,
        delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
        reason: failure.to_string(),
    });
    let not_before = retry_after.map(|wait| core.now().after(wait));
    Ok(Waiting::new(next, not_before))
}
