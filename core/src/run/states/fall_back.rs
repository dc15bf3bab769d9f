//! Another model takes the place of one that failed, or is chosen by the host.

use super::Run;
use super::active::Active;
use super::any_run::next;
use super::data::{Completed, Opening, State};
use super::edges::{Edge, on};
use crate::Timestamp;
use crate::run::hop;
#[cfg(doc)]
use crate::run::protocol::Fallback;
use crate::run::protocol::{Failure, Misuse, Outcome, StateKind, TimerKey, ticket};

next! {
    /// The result of what decides how a hop's request is made: the choice of a model, or of what to leave out.
    Prepared {
        /// The request is on its way.
        Opening,
        /// No model takes the request: the turn is over.
        Completed,
    }
}

/// The states in which a model can fail.
#[allow(unreachable_pub)]
pub trait Replaceable: Active + Edge<on::FallBack, Opening> + Edge<on::Fail, Completed> {}

macro_rules! replaceable {
    ($($state:ident)*) => { $( impl Replaceable for super::data::$state {} )* };
}

replaceable! { Opening Streaming Reviewing }

/// What has come of the answer of a model that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// Nothing: the hop asks again, with the attempt of this number.
    Nothing {
        /// The number.
        attempt: u32,
    },
    /// The app may have shown something, or the answer is complete: the next hop asks.
    Something {
        /// Whether the user has seen a part of an answer.
        is_seen: bool,
    },
}

impl<S: Replaceable> Run<S> {
    /// Ends the turn with this failure, unless another model can be asked.
    pub(super) fn fail_or_fall_back<To>(self, failure: Failure, received: Received) -> To
    where
        To: From<Run<Opening>> + From<Run<Completed>>,
    {
        let outcome = Outcome::Failed { failure };
        match self.fall_back(&outcome, received) {
            Ok(next) => next,
            Err(run) => run.end_failed(outcome).into(),
        }
    }

    /// Asks another model in place of ending the turn with this outcome.
    ///
    /// # Errors
    /// There is none for such an outcome: the run is unchanged.
    pub(super) fn fall_back<To>(mut self, outcome: &Outcome, received: Received) -> Result<To, Self>
    where
        To: From<Run<Opening>> + From<Run<Completed>>,
    {
        let is_seen = matches!(received, Received::Something { is_seen: true });
        let Some(model) = self.turn.model_after(outcome, is_seen) else {
            return Err(self);
        };
        // The next request may wait for a write, or for the host.
        self.turn.clocks_mut().stop(TimerKey::Silence);
        let (begun, attempt) = match received {
            Received::Nothing { attempt } => {
                if S::KIND == StateKind::Streaming {
                    self.turn.drop_stream();
                }
                let hop = self.turn.hop();
                self.turn.fall_back(model, hop, attempt, outcome);
                (hop::ask_chosen(&mut self.turn), attempt)
            }
            Received::Something { .. } => {
                match S::KIND {
                    StateKind::Reviewing => self.turn.cut_recorded_answer(),
                    _ => self.turn.cut_answer(Vec::new()),
                }
                let next = self.turn.hop() + 1;
                self.turn.fall_back(model, next, 0, outcome);
                (hop::begin_after_failure(&mut self.turn, next), 0)
            }
        };
        let run = self.goto(on::FallBack, Opening::new(attempt));
        Ok(run.begun(begun))
    }
}

impl Run<Opening> {
    /// Continues with the request, or ends the turn if no model takes it.
    pub(super) fn begun<To>(self, begun: Result<(), Failure>) -> To
    where
        To: From<Self> + From<Run<Completed>>,
    {
        match begun {
            Ok(()) => self.into(),
            Err(failure) => {
                let attempt = self.state.attempt();
                self.fail_or_fall_back(failure, Received::Nothing { attempt })
            }
        }
    }

    /// Asks the model that the host has chosen for the hop, by its number: 0 is the endpoint of the configuration, 1 the
    /// first of [`Fallback::models`].
    ///
    /// # Errors
    /// There is no model of this number. The run is unchanged, and still waits for a choice.
    pub fn model_chosen(
        mut self,
        ticket: ticket::ChooseModel,
        model: u32,
        now: Timestamp,
    ) -> Result<Prepared, (Self, ticket::ChooseModel, Misuse)> {
        self.turn.tick(now);
        let last = self.turn.config().model_count() - 1;
        if model > last {
            return Err((self, ticket, Misuse::UnknownModel { model, last }));
        }
        let Some(effect) = self.turn.redeem(ticket) else {
            return Ok(self.into());
        };
        self.turn.answered(effect);
        self.turn.take_chosen_model(model);
        let begun = hop::ask_chosen(&mut self.turn);
        Ok(self.begun(begun))
    }

    /// Continues with the model that the turn has, since the host's code could not choose one.
    pub fn model_not_chosen(
        mut self,
        ticket: ticket::ChooseModel,
        message: &str,
        now: Timestamp,
    ) -> Prepared {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return self.into();
        };
        self.turn.answered(effect);
        self.turn
            .warn(format!("no model was chosen for the hop: {message}"));
        let begun = hop::ask_chosen(&mut self.turn);
        self.begun(begun)
    }
}

impl<S: State> Run<S> {
    /// Notes that a model has failed in another turn: until a time it is asked only if all others have failed too.
    pub fn model_rests(&mut self, model: u32, until: Timestamp, now: Timestamp) {
        self.turn.tick(now);
        self.turn.rest_model(model, until);
    }
}
