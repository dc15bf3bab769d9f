use super::Run;
use super::any_run::next;
use super::data::{Reviewing, Streaming, Waiting};
use super::edges::on;
use super::fall_back::Received;
use crate::dialect::Dialect;
use crate::event::RunOutcome;
use crate::pipeline::StreamEnd;
use crate::run::parts::Reading;
use crate::run::protocol::{Deadline, EffectId, Failure, HookPlace, Outcome, TimerKey};
use crate::transcript::RunFailure;
use crate::{CallKey, Timestamp};

/// States whether a stream continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// The stream continues.
    Open,
    /// The stream cannot be read further, or is complete: call [`Run::end`].
    Over,
}

next! {
    /// The result of a stream's end.
    Ended {
        /// The model asked for tools.
        ExecutingTools,
        /// Every call was answered without running a tool, the user has typed meanwhile, or the provider has paused:
        /// the next hop is on its way.
        Opening,
        /// The agent asks the user.
        Interrupted,
        /// The turn is over.
        Completed,
        /// The host must decode the typed answer.
        Decoding,
        /// Hooks look at the answer.
        Reviewing,
        /// The body ended before the answer did, and the backend can resume it: it is opened again in a while.
        Waiting,
    }
}

next! {
    /// The result of a broken connection.
    Lost {
        /// The app has seen nothing of the stream, or the backend can resume it: it is opened again after a pause.
        Waiting,
        /// The answer was complete: the model asked for tools.
        ExecutingTools,
        /// The same, and every call was answered without running a tool, or the user has typed meanwhile.
        Opening,
        /// The same, and the agent asks the user.
        Interrupted,
        /// The same, and the host must decode the typed answer.
        Decoding,
        /// The same, and hooks look at the answer.
        Reviewing,
        /// The turn is over.
        Completed,
    }
}

impl From<Ended> for Lost {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::ExecutingTools(run) => run.into(),
            Ended::Opening(run) => run.into(),
            Ended::Interrupted(run) => run.into(),
            Ended::Decoding(run) => run.into(),
            Ended::Reviewing(run) => run.into(),
            Ended::Completed(run) => run.into(),
            Ended::Waiting(run) => run.into(),
        }
    }
}

impl Run<Streaming> {
    /// The effect under which the stream's inputs come.
    pub(super) fn open_effect(&self) -> EffectId {
        EffectId::Open {
            hop: self.turn.hop(),
            attempt: self.state.answer().attempt(),
        }
    }

    /// Returns the provider's id of the answer, if known. It is meant for traces, and is not stored.
    #[must_use]
    pub fn response_id(&self) -> Option<&str> {
        self.state.answer().id()
    }

    /// Takes bytes of the body, of any number and cut anywhere.
    pub fn receive(&mut self, bytes: &[u8], now: Timestamp) -> Flow {
        self.turn.tick(now);
        match self.turn.receive(self.state.answer_mut(), bytes) {
            Reading::Over => Flow::Over,
            Reading::Open | Reading::Whole | Reading::WasWhole => Flow::Open,
        }
    }

    /// Stops one call that the model has asked for: the call will not run. The answer continues.
    pub fn cancel_call(&mut self, call: CallKey, now: Timestamp) {
        self.turn.tick(now);
        self.turn.stop_before_it_begins(call);
    }

    /// Ends the body: it ended normally, [`receive`](Self::receive) has returned that it is over, or the answer is
    /// complete and the stream was left open long enough ([`TimerKey::Closing`]).
    ///
    /// A stream that failed before it brought any content is retried like a request that was refused with a status:
    /// providers commit to a 200 before they know that they are overloaded.
    pub fn end(mut self, now: Timestamp) -> Ended {
        self.turn.tick(now);
        self.turn.withdraw_stream(self.open_effect());
        if let Some(failure) = self.state.answer_mut().take_fault() {
            return self.failed(failure);
        }
        if let Some(waiting) = self.plan_resumption() {
            return self.goto(on::Retry, waiting).into();
        }
        match self.turn.end_answer(self.state.answer_mut()) {
            Err(failure) => self.failed(failure),
            Ok(None) => self.read_later(),
            Ok(Some(StreamEnd::Truncated)) => {
                let message = "the body ended before the answer began".to_owned();
                match self.plan_retry_without_content(Failure::Connection { message }) {
                    Ok(waiting) => self.goto(on::Retry, waiting).into(),
                    Err(_) => {
                        let received = self.received();
                        match self.fall_back(&Outcome::Truncated, received) {
                            Ok(ended) => ended,
                            Err(mut run) => {
                                run.turn.mark_as_refused();
                                run.finish(Outcome::Truncated).into()
                            }
                        }
                    }
                }
            }
            Ok(Some(StreamEnd::Errored)) => {
                let error = self.turn.transcript().summary().failure.clone();
                let error = error.unwrap_or_else(|| RunFailure {
                    message: "the stream reported a failure".to_owned(),
                    ..RunFailure::default()
                });
                self.failed(Failure::reported(error))
            }
            Ok(Some(StreamEnd::Finished)) => match self.turn.failure_of_stop() {
                Some(failure) if !self.state.answer().has_content() => self.failed(failure),
                _ => {
                    self.turn.note_provider_compaction();
                    self.finished()
                }
            },
        }
    }

    /// Reads an answer again in a while that the provider has not finished, or ends the turn.
    fn read_later(mut self) -> Ended {
        if !self.turn.read_later(self.state.answer_mut()) {
            let deadline = Deadline::Silence;
            return self.failed(Failure::TimedOut { deadline });
        }
        let attempt = self.state.answer().attempt().saturating_add(1);
        self.goto(on::Retry, Waiting::new(attempt, None)).into()
    }

    /// Handles a failed stream: plans the next attempt, or ends the turn.
    fn failed(mut self, failure: Failure) -> Ended {
        match self.plan_retry_without_content(failure) {
            Ok(waiting) => self.goto(on::Retry, waiting).into(),
            Err(failure) => {
                let received = self.received();
                self.fail_or_fall_back(failure, received)
            }
        }
    }

    /// Returns what there is of the answer, for another model. Nothing of it stays if the app has seen nothing.
    fn received(&self) -> Received {
        if self.is_seen() || self.turn.broken_stream().is_some() {
            return Received::Something { is_seen: true };
        }
        Received::Nothing {
            attempt: self.state.answer().attempt().saturating_add(1),
        }
    }

    /// Plans the next attempt of an answer of which the app has seen nothing. Returns the failure if there was content,
    /// or if the policy allows no further attempt.
    fn plan_retry_without_content(&mut self, failure: Failure) -> Result<Waiting, Failure> {
        if self.state.answer().has_content() {
            return Err(failure);
        }
        let wait = failure.retry_after();
        let waiting = self.plan_retry(self.state.answer().attempt(), failure, wait)?;
        self.turn.drop_stream();
        Ok(waiting)
    }

    /// The connection broke within the body.
    pub fn lost(mut self, message: String, now: Timestamp) -> Lost {
        self.turn.tick(now);
        self.turn.answered(self.open_effect());
        self.broken(Failure::Connection { message })
    }

    /// Handles the host's death during the answer. If the answer cannot be resumed, its visible part stays, marked as
    /// cut, and the answer is requested again.
    pub(super) fn host_died(mut self, now: Timestamp) -> Lost {
        let answer = self.state.answer();
        if !self.is_seen() || answer.is_done() || self.turn.can_resume(answer) {
            let message = "the host stopped while the answer came".to_owned();
            return self.lost(message, now);
        }
        self.turn.tick(now);
        // This host has no stream to close.
        self.turn.answered(self.open_effect());
        self.turn.clocks_mut().stop(TimerKey::Silence);
        let begun = self.cut(Vec::new());
        self.turn.mark_hop_after_cut();
        self.asking(on::Continue, begun)
    }

    /// The model has been silent for too long ([`TimerKey::Silence`]).
    pub(in crate::run) fn silent(mut self, now: Timestamp) -> Lost {
        self.turn.tick(now);
        self.broken(Failure::TimedOut {
            deadline: Deadline::Silence,
        })
    }

    fn broken(mut self, failure: Failure) -> Lost {
        if self.state.answer().is_done() {
            // The answer was complete before the connection broke.
            let now = self.turn.clocks().now();
            return self.end(now).into();
        }
        self.turn.withdraw_stream(self.open_effect());
        let is_resumed = self.state.answer().has_begun() && self.keep_for_resumption();
        if !is_resumed && self.is_seen() {
            let received = self.received();
            return self.fail_or_fall_back(failure, received);
        }
        match self.plan_next_try(failure) {
            Ok(waiting) => {
                if !is_resumed {
                    self.turn.drop_stream();
                }
                self.goto(on::Retry, waiting).into()
            }
            Err(failure) => {
                let received = self.received();
                self.fail_or_fall_back(failure, received)
            }
        }
    }

    /// Returns whether asking for the answer again would leave a trace: the app has seen some of it, or it is that of
    /// an agent, which may have begun to work.
    fn is_seen(&self) -> bool {
        let answer = self.state.answer();
        match self.turn.config().endpoint.dialect {
            Dialect::AgUi => answer.has_begun(),
            _ => answer.has_content(),
        }
    }

    /// Keeps the stream for a resumption if it has begun. Returns whether it can be opened again without a gap or a
    /// repetition.
    pub(super) fn prepare_to_open_again(&mut self) -> bool {
        if self.state.answer().is_done() {
            return false;
        }
        (self.state.answer().has_begun() && self.keep_for_resumption()) || !self.is_seen()
    }

    fn keep_for_resumption(&mut self) -> bool {
        self.turn.keep_for_resumption(self.state.answer_mut())
    }

    fn plan_next_try(&mut self, failure: Failure) -> Result<Waiting, Failure> {
        let wait = self.turn.wanted_wait();
        self.plan_retry(self.state.answer().attempt(), failure, wait)
    }

    /// A body that ended as it should, though the answer in it did not, is resumed too where the backend can.
    fn plan_resumption(&mut self) -> Option<Waiting> {
        if !self.state.answer().is_broken_off() || !self.keep_for_resumption() {
            return None;
        }
        let message = "the body ended before the answer did".to_owned();
        let plan = self.plan_next_try(Failure::Connection { message });
        if plan.is_err()
            && let Some(pipeline) = self.turn.take_broken_stream()
        {
            self.state.answer_mut().put_back(pipeline);
        }
        plan.ok()
    }

    fn finished(mut self) -> Ended {
        if !self.turn.is_to_be_reviewed() {
            return self.answered();
        }
        let is_agents_end = matches!(
            self.turn.transcript().summary().outcome,
            Some(RunOutcome::Interrupt { .. } | RunOutcome::Cancelled)
        );
        if !is_agents_end {
            self.turn.leave_foreign_calls();
        }
        self.turn.leave_stream();
        let hop = self.turn.hop();
        self.turn.ask_hooks(HookPlace::Answer { hop });
        self.goto(on::Review, Reviewing {}).into()
    }
}
