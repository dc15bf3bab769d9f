//! The retries of a hop, within the limits of the table.
//!
//! Owns `tries`. Every retry is counted and reported here: a request sent again, and an answer that was empty or had calls
//! that could not be read, after which the next hop asks.

use super::Turn;
use super::rounds::Next;
use crate::run::protocol::{ErrorKind, FailedTry, Failure, Incomplete, Outcome, RunEvent};
use std::time::Duration;

/// The kind of an answer that is empty or cannot be read.
const OUTPUT: ErrorKind = ErrorKind::OutputInvalid;

impl Turn {
    /// Counts a retry after a failure of this kind, and returns the pause before it; `None` if the table allows no more.
    pub(in crate::run) fn plan_try(
        &mut self,
        kind: ErrorKind,
        wanted: Option<Duration>,
    ) -> Option<Duration> {
        let pause = self.setup.config().retry.next_try(FailedTry {
            kind,
            after_kind: self.tries.after(kind),
            in_hop: self.tries.count(),
            wanted,
            turn: self.id.as_str(),
            hop: self.hop,
        })?;
        self.tries.note(kind);
        Some(pause)
    }

    /// Reports a retry to the app.
    pub(in crate::run) fn retrying(
        &mut self,
        kind: ErrorKind,
        attempt: u32,
        delay: Duration,
        reason: String,
    ) {
        self.event(RunEvent::Retrying {
            kind,
            attempt,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            reason,
        });
    }

    /// Decides whether the next hop asks the model again after an empty answer. If so, its request tells the model why.
    pub(in crate::run) fn ask_again_after_empty_answer(&mut self) -> bool {
        let running = self.clocks.running();
        let limits = &self.setup.config().limits;
        let asks = self.budget.next_limit(limits, 0, running).is_none()
            && self.ask_in_next_hop(Incomplete::Empty.to_string());
        if asks {
            self.empty.ask_again();
        }
        asks
    }

    /// Decides what follows a round in which no call could be read. The failed results tell the model why; this only limits
    /// how often in a row.
    pub(super) fn ask_again_after_unreadable_calls(&mut self, reason: String) -> Next {
        if self.ask_in_next_hop(reason.clone()) {
            return Next::Ask;
        }
        let text = self.answer_text().into_owned().into();
        let failure = Failure::OutputInvalid { reason, text };
        if self.fall_back_after_output(&failure) {
            return Next::Ask;
        }
        Next::Over(Outcome::Failed { failure })
    }

    /// Counts a retry by the next hop. It needs no pause: the provider has just answered.
    fn ask_in_next_hop(&mut self, reason: String) -> bool {
        if self.plan_try(OUTPUT, None).is_none() {
            return false;
        }
        self.tries.ask_next_hop();
        self.retrying(OUTPUT, self.tries.count(), Duration::ZERO, reason);
        true
    }
}
