//! The retries of a hop, within the limits of the table.
//!
//! Owns `tries`. Every retry is counted and reported here: a request sent again, and an answer that was empty or had calls
//! that could not be read, after which the next hop asks.

use super::Turn;
use super::rounds::Next;
use crate::dialect::Dialect;
use crate::run::protocol::{ErrorKind, FailedTry, Failure, Incomplete, Limits, Outcome, RunEvent};
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

    /// Counts a retry by the next hop after a part of the answer was shown, and returns the pause before it; `None` if the
    /// table or a limit of the turn allows none.
    pub(in crate::run) fn plan_try_after_text(
        &mut self,
        kind: ErrorKind,
        wanted: Option<Duration>,
    ) -> Option<Duration> {
        if !self.may_ask_after_text(kind) {
            return None;
        }
        let config = self.setup.config();
        let tries = self.tries.after_text();
        let pause = config.retry.next_try(FailedTry {
            kind,
            after_kind: tries,
            in_hop: tries,
            wanted,
            turn: self.id.as_str(),
            hop: self.hop,
        })?;
        self.tries.note_after_text();
        Some(pause)
    }

    /// Returns whether the next hop may ask for the answer again of which a part was shown. What that part cost counts. The
    /// limit of rounds does not: no tools have run.
    pub(in crate::run) fn may_ask_after_text(&self, kind: ErrorKind) -> bool {
        let config = self.setup.config();
        if !config.retry.retries_after_text(kind) || config.endpoint.dialect == Dialect::AgUi {
            return false;
        }
        let mut usage = self.transcript.summary().usage.clone();
        for usage in &mut usage {
            usage.cost = config.endpoint.cost(usage).or(usage.cost);
        }
        let mut budget = self.budget.clone();
        budget.count_usage(&usage);
        let limits = Limits {
            max_tool_rounds: u32::MAX,
            ..config.limits
        };
        let running = self.clocks.running();
        budget.next_limit(&limits, 0, running).is_none()
    }

    /// Lets the next hop ask for the answer again, without counting that: there was no network.
    pub(in crate::run) fn ask_next_hop(&mut self) {
        self.tries.ask_next_hop();
    }

    /// Returns how often the answer was asked for again after a part of it was shown.
    pub(in crate::run) fn retries_after_text(&self) -> u32 {
        self.tries.after_text()
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
