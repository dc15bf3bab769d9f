//! A model writes a summary of the older messages, before the hop's own request.

use super::Run;
use super::any_run::next;
use super::data::{Completed, Opening, Summarizing};
use super::edges::on;
use super::streaming::Flow;
use crate::Timestamp;
use crate::run::hop;
use crate::run::parts::Reading;
use crate::run::protocol::{Deadline, EffectId, Failure, TimerKey};

next! {
    /// The result of the end of a summary's stream.
    Summarized {
        /// The hop's own request follows, with the summary; without one if none came.
        Opening,
        /// The summary is asked for again after a pause.
        Waiting,
        /// The conversation does not fit the model's context without a summary: the turn is over.
        Completed,
    }
}

impl Run<Summarizing> {
    /// The effect under which the stream's inputs come.
    pub(super) fn open_effect(&self) -> EffectId {
        EffectId::Open {
            hop: self.turn.hop(),
            attempt: self.state.answer().attempt(),
        }
    }

    /// Takes bytes of the body, of any number and cut anywhere.
    pub fn receive(&mut self, bytes: &[u8], now: Timestamp) -> Flow {
        self.turn.tick(now);
        match self.turn.receive_summary(self.state.answer_mut(), bytes) {
            Reading::Over => Flow::Over,
            Reading::Open | Reading::Whole | Reading::WasWhole => Flow::Open,
        }
    }

    /// Ends the body: it ended normally, [`receive`](Self::receive) has returned that it is over, or the summary is
    /// complete and the stream was left open long enough ([`TimerKey::Closing`]).
    pub fn end(mut self, now: Timestamp) -> Summarized {
        self.turn.tick(now);
        self.turn.withdraw_stream(self.open_effect());
        if let Some(failure) = self.state.answer_mut().take_fault() {
            return self.failed(failure);
        }
        match self.turn.end_summary(self.state.answer_mut()) {
            Err(failure) => self.failed(failure),
            Ok(()) => {
                self.turn.warn_of_empty_summary();
                self.continued()
            }
        }
    }

    /// The connection broke within the body.
    pub fn lost(mut self, message: String, now: Timestamp) -> Summarized {
        self.turn.tick(now);
        self.turn.answered(self.open_effect());
        self.broken(Failure::Connection { message }, now)
    }

    /// The model has been silent for too long ([`TimerKey::Silence`]).
    pub(in crate::run) fn silent(mut self, now: Timestamp) -> Summarized {
        self.turn.tick(now);
        let deadline = Deadline::Silence;
        self.broken(Failure::TimedOut { deadline }, now)
    }

    fn broken(mut self, failure: Failure, now: Timestamp) -> Summarized {
        if self.state.answer().is_done() {
            // The summary was complete before the connection broke.
            return self.end(now);
        }
        self.turn.withdraw_stream(self.open_effect());
        self.failed(failure)
    }

    /// Asks for the summary again, since the app has seen nothing of it; or continues without one.
    fn failed(mut self, failure: Failure) -> Summarized {
        self.turn.drop_summary();
        let wait = failure.retry_after();
        match self.plan_retry(self.state.answer().attempt(), failure, wait) {
            Ok(waiting) => self.goto(on::Retry, waiting).into(),
            Err(failure) => {
                self.turn.warn_of_no_summary(&failure);
                self.continued()
            }
        }
    }

    /// Continues with the hop's own request.
    fn continued(mut self) -> Summarized {
        let attempt = self.state.answer().attempt();
        let begun = hop::summarized(&mut self.turn, attempt);
        let next = Opening::new(self.turn.first_attempt());
        self.goto(on::Continue, next).begun(begun)
    }

    /// Asks for the summary again at once: on another network, or on another host.
    pub(super) fn open_again(mut self) -> Run<Opening> {
        self.turn.drop_summary();
        let attempt = self.turn.open_again(self.state.answer().attempt());
        self.goto(on::Reopen, Opening::new(attempt))
    }

    /// Handles the host's death: nothing of the summary was shown, so it is asked for again.
    pub(super) fn host_died(mut self) -> Run<Opening> {
        // This host has no stream to close.
        self.turn.answered(self.open_effect());
        let clocks = self.turn.clocks_mut();
        clocks.stop(TimerKey::Silence);
        clocks.stop(TimerKey::Closing);
        self.open_again()
    }
}

impl Run<Opening> {
    /// Continues without a summary after the last attempt to get one has failed.
    pub(super) fn without_summary<To>(mut self, failure: &Failure) -> To
    where
        To: From<Self> + From<Run<Completed>>,
    {
        self.turn.warn_of_no_summary(failure);
        self.turn.drop_summary();
        let begun = hop::summarized(&mut self.turn, self.state.attempt());
        self.state = Opening::new(self.turn.first_attempt());
        self.begun(begun)
    }
}
