use super::Run;
use super::any_run::next;
use super::data::{Completed, Opening, Streaming, Summarizing};
use super::edges::on;
use super::fall_back::{Prepared, Received};
use crate::dialect::ApiError;
use crate::event::Message;
use crate::run::hop;
#[cfg(doc)]
use crate::run::protocol::Input;
use crate::run::protocol::ticket;
use crate::run::protocol::{
    Authorization, Deadline, EffectId, Failure, Refusal, RunEvent, TimerKey,
};
use crate::{MessageId, RunId, Timestamp};
use std::time::Duration;

next! {
    /// The result of an answer to the request.
    Opened {
        /// The answer's body follows.
        Streaming,
        /// The body of a summary of the conversation follows, before the hop's own request.
        Summarizing,
        /// The request had been taken back: nothing has changed.
        Opening,
    }
}

next! {
    /// The result of a refused request.
    Refused {
        /// The request is retried after a pause.
        Waiting,
        /// The host is asked for another key, or an answer is read as a whole that is no longer streamed, and it is tried again
        /// at once; or the request had been taken back, and nothing has changed.
        Opening,
        /// The turn is over.
        Completed,
    }
}

next! {
    /// The result of adding the messages that a dead host had shown.
    Shown {
        /// The answer is requested again.
        Opening,
        /// The conversation no longer fits the model's context.
        Completed,
    }
}

/// The status of an answer to a request without a key that is taken.
const UNAUTHORIZED: u16 = 401;

impl Run<Opening> {
    /// The effect that this state waits for.
    pub(super) fn open_effect(&self) -> EffectId {
        EffectId::Open {
            hop: self.turn.hop(),
            attempt: self.state.attempt(),
        }
    }

    fn create_effect(&self) -> EffectId {
        EffectId::CreateRun {
            hop: self.turn.hop(),
        }
    }

    /// Sends the request for the run that the backend has created for the hop.
    pub fn run_created(&mut self, ticket: ticket::CreateRun, run_id: RunId, now: Timestamp) {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return;
        };
        self.turn.answered(effect);
        self.turn.enter_run(run_id.clone());
        let hop = self.turn.hop();
        self.turn.event(RunEvent::HopStarted { hop, run_id });
        self.turn.emit(self.open_effect());
    }

    /// The backend did not create the hop's run. The results of the tools are in the history, so a new turn on it
    /// sends them.
    ///
    /// # Errors
    /// The turn is over. (A late answer changes nothing.)
    pub fn run_not_created(
        mut self,
        ticket: ticket::CreateRun,
        message: String,
        now: Timestamp,
    ) -> Result<Self, Run<Completed>> {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return Ok(self);
        };
        self.turn.answered(effect);
        Err(self.fail(Failure::RunNotCreated { message }))
    }

    /// The provider answered with a 2xx status: its body follows.
    pub fn opened(
        mut self,
        ticket: ticket::Open,
        content_type: Option<&str>,
        now: Timestamp,
    ) -> Opened {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return self.into();
        };
        self.turn.opened(effect);
        let answer = self.turn.answer(self.state.attempt(), content_type);
        if self.turn.is_summarizing() {
            return self.goto(on::Summarize, Summarizing::new(answer)).into();
        }
        self.goto(on::Opened, Streaming::new(answer)).into()
    }

    /// The provider answered with another status.
    pub fn refused(mut self, ticket: ticket::Open, refusal: &Refusal, now: Timestamp) -> Refused {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return self.into();
        };
        self.turn.answered(effect);
        if refusal.status == UNAUTHORIZED && self.turn.reject_access(self.state.attempt()) {
            // The request may wait for the network or for a write, so the timer for silence stops.
            self.turn.clocks_mut().stop(TimerKey::Silence);
            self.state = Opening::new(self.turn.open_again(self.state.attempt()));
            return self.into();
        }
        if self.turn.read_whole_after(refusal.status) {
            self.turn.clocks_mut().stop(TimerKey::Silence);
            self.state = Opening::new(self.turn.open_again(self.state.attempt()));
            return self.into();
        }
        let mut error = ApiError::from_body(refusal.status, &refusal.body);
        error.retry_after = refusal.retry_after.or(error.retry_after);
        let wait = error.retry_after;
        self.try_again(Failure::Api { error }, wait)
    }

    /// Handles a connection that failed before any answer.
    pub fn connection_failed(
        mut self,
        ticket: ticket::Open,
        message: String,
        now: Timestamp,
    ) -> Refused {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return self.into();
        };
        self.turn.answered(effect);
        self.try_again(Failure::Connection { message }, None)
    }

    /// The model has not answered for too long ([`TimerKey::Silence`]).
    pub(in crate::run) fn silent(mut self, now: Timestamp) -> Refused {
        self.turn.tick(now);
        self.turn.withdraw(self.open_effect());
        self.try_again(
            Failure::TimedOut {
                deadline: Deadline::Silence,
            },
            None,
        )
    }

    fn try_again(mut self, failure: Failure, retry_after: Option<Duration>) -> Refused {
        match self.plan_retry(self.state.attempt(), failure, retry_after) {
            Ok(waiting) => self.goto(on::Retry, waiting).into(),
            Err(failure) if self.turn.is_summarizing() => self.without_summary(&failure),
            Err(failure) => {
                let received = match self.turn.broken_stream() {
                    Some(_) => Received::Something { is_seen: true },
                    None => Received::Nothing {
                        attempt: self.state.attempt().saturating_add(1),
                    },
                };
                self.fail_or_fall_back(failure, received)
            }
        }
    }

    /// The effect under which the host is asked for credentials.
    fn authorize_effect(&self) -> EffectId {
        EffectId::Authorize {
            hop: self.turn.hop(),
            attempt: self.state.attempt(),
        }
    }

    /// Sends the request with the host's credentials.
    ///
    /// # Errors
    /// No header can carry the credentials: the turn is over.
    pub fn authorized(
        mut self,
        ticket: ticket::Authorize,
        authorization: Authorization,
        now: Timestamp,
    ) -> Result<Self, Run<Completed>> {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return Ok(self);
        };
        self.turn.answered(effect);
        if let Err(error) = authorization.check() {
            let message = error.to_string();
            return Err(self.fail(Failure::NotAuthorized { message }));
        }
        self.turn.authorize(self.open_effect(), authorization);
        Ok(self)
    }

    /// The host has no credentials for the request.
    pub fn not_authorized(
        mut self,
        ticket: ticket::Authorize,
        message: String,
        now: Timestamp,
    ) -> Refused {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return self.into();
        };
        self.turn.answered(effect);
        self.try_again(Failure::NotAuthorized { message }, None)
    }

    /// The host has taken too long to give credentials ([`TimerKey::Credentials`]).
    pub(in crate::run) fn authorize_timed_out(mut self, now: Timestamp) -> Refused {
        self.turn.tick(now);
        self.turn.withdraw(self.authorize_effect());
        let message = "the app took too long to give them".to_owned();
        self.try_again(Failure::NotAuthorized { message }, None)
    }

    /// The effect under which the host is asked to choose the hop's model.
    fn choose_effect(&self) -> EffectId {
        EffectId::ChooseModel {
            hop: self.turn.hop(),
        }
    }

    /// The effect under which the host is asked to trim the conversation.
    fn trim_effect(&self) -> EffectId {
        EffectId::Trim {
            hop: self.turn.hop(),
        }
    }

    /// Applies the host's choice of messages to keep, and its summary of the others. The history stays complete: requests
    /// leave the others out, in this turn and in those that follow it. Whatever belongs to a kept message is kept too: a call with
    /// its results, both ways, and the reasoning before them. So are the last question and the last message.
    pub fn context_trimmed(
        mut self,
        ticket: ticket::Trim,
        keep: &[MessageId],
        summary: Option<String>,
        now: Timestamp,
    ) -> Prepared {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return self.into();
        };
        self.turn.answered(effect);
        let trimmed = hop::trimmed(&mut self.turn, keep, summary);
        self.begun(trimmed)
    }

    /// The host cannot make the conversation fit.
    pub fn context_not_trimmed(
        mut self,
        ticket: ticket::Trim,
        message: &str,
        now: Timestamp,
    ) -> Prepared {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return self.into();
        };
        self.turn.answered(effect);
        let trimmed = hop::not_trimmed(&mut self.turn, message);
        self.begun(trimmed)
    }

    /// Adds the messages that the user saw from a host that died. Those that the run does not know belong to the
    /// awaited answer. See [`Input::Shown`].
    pub fn shown(mut self, messages: Vec<Message>, now: Timestamp) -> Shown {
        self.turn.tick(now);
        let new = self.turn.new_of(messages);
        if new.is_empty() || self.turn.broken_stream().is_some() {
            return self.into();
        }
        self.withdraw_asked();
        let begun = self.cut(new);
        self.asking(on::Continue, begun)
    }

    /// A stream of another dialect cannot be resumed.
    pub(super) fn without_foreign_stream(mut self) -> Shown {
        if !self.turn.has_foreign_stream() {
            return self.into();
        }
        self.withdraw_asked();
        let begun = self.cut(Vec::new());
        self.turn.mark_hop_after_cut();
        self.asking(on::Continue, begun)
    }

    fn withdraw_asked(&mut self) {
        self.turn.abandon_summary();
        self.turn.end_request_hooks();
        for asked in [
            self.open_effect(),
            self.create_effect(),
            self.trim_effect(),
            self.choose_effect(),
            self.authorize_effect(),
        ] {
            self.turn.withdraw(asked);
        }
        self.turn.clocks_mut().stop(TimerKey::Silence);
    }
}
