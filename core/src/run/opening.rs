use super::active::{Active, plan_retry};
use super::completed::Completed;
use super::edges::on;
use super::effect::EffectId;
use super::outcome::{Deadline, Failure};
use super::output::RunEvent;
use super::pending::Stage;
use super::streaming::Streaming;
#[cfg(doc)]
use super::timer::TimerKey;
use super::typed::{Run, next};
use crate::dialect::ApiError;
use crate::{RunId, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A request is on its way.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "model-check", derive(Clone))]
pub struct Opening {
    attempt: u32,
}

impl Opening {
    pub(super) fn new(attempt: u32) -> Self {
        Self { attempt }
    }
}

impl Active for Opening {}

/// An answer with a status other than 2xx.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The wait that the answer's `Retry-After` asks for. Without one, the wait that the body asks for counts.
    pub retry_after: Option<Duration>,
    /// The body, or as much of it as the host cares to keep; 64 KiB are plenty.
    #[serde(with = "crate::wire::as_text")]
    pub body: Vec<u8>,
}

next! {
    /// What a refused request leads to.
    Refused {
        /// It is tried again in a while.
        Waiting,
        /// It is not.
        Completed,
    }
}

impl Run<Opening> {
    /// The effect that this state waits for.
    pub(super) fn open_effect(&self) -> EffectId {
        EffectId::Open {
            hop: self.core.hop,
            attempt: self.state.attempt,
        }
    }

    fn create_effect(&self) -> EffectId {
        EffectId::CreateRun { hop: self.core.hop }
    }

    /// The backend created the hop's run: the request goes out.
    pub fn run_created(&mut self, run_id: RunId, now: Timestamp) {
        self.core.tick(now);
        let create = self.create_effect();
        if self.core.pending.stage(create).is_none() {
            return;
        }
        self.core.answered(create);
        self.core.ids.run_id = run_id.clone();
        let hop = self.core.hop;
        self.core.event(RunEvent::HopStarted { hop, run_id });
        self.core.emit(self.open_effect());
    }

    /// The backend did not create the hop's run. The results of the tools are in the history, so a new turn on it
    /// sends them.
    pub fn run_not_created(mut self, message: String, now: Timestamp) -> Run<Completed> {
        self.core.tick(now);
        self.core.answered(self.create_effect());
        self.fail(Failure::RunNotCreated { message })
    }

    /// The provider answered with a 2xx status: its body follows.
    pub fn opened(mut self, content_type: Option<&str>, now: Timestamp) -> Run<Streaming> {
        self.core.tick(now);
        let stream = self.open_effect();
        self.core.pending.set(stream, Stage::Live);
        self.core.restart_silence();
        let streaming = Streaming::new(&mut self.core, self.state.attempt, content_type);
        self.goto(on::Opened, streaming)
    }

    /// The provider answered with another status.
    pub fn refused(mut self, refusal: &Refusal, now: Timestamp) -> Refused {
        self.core.tick(now);
        self.core.answered(self.open_effect());
        let error = ApiError::from_body(refusal.status, &refusal.body);
        let wait = refusal.retry_after.or(error.retry_after);
        self.try_again(Failure::Api { error }, wait)
    }

    /// No answer came at all.
    pub fn connection_failed(mut self, message: String, now: Timestamp) -> Refused {
        self.core.tick(now);
        self.core.answered(self.open_effect());
        self.try_again(Failure::Connection { message }, None)
    }

    /// The model has not answered for too long ([`TimerKey::Silence`]).
    pub fn silent(mut self, now: Timestamp) -> Refused {
        self.core.tick(now);
        self.core.withdraw(self.open_effect());
        self.try_again(
            Failure::TimedOut {
                deadline: Deadline::Silence,
            },
            None,
        )
    }

    fn try_again(mut self, failure: Failure, retry_after: Option<Duration>) -> Refused {
        match plan_retry(&mut self.core, self.state.attempt, failure, retry_after) {
            Ok(waiting) => self.goto(on::Retry, waiting).into(),
            Err(failure) => self.fail(failure).into(),
        }
    }
}
