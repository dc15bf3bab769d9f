use super::Run;
use super::data::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, State, Streaming,
    Waiting,
};
use super::edges::{Edge, on};
use crate::Timestamp;
use crate::event::Message;
use crate::run::protocol::{Deadline, Failure, HookPlace, Outcome, StateKind, ticket};
#[cfg(doc)]
use crate::run::protocol::{RunEvent, TimerKey};

/// A state from which a turn can be stopped: every one but [`Completed`].
pub trait Active: State + Edge<on::Cancel, Completed> {}

macro_rules! active {
    ($($state:ident)*) => { $( impl Active for $state {} )* };
}

active! { Idle Opening Waiting Streaming Reviewing Decoding ExecutingTools Interrupted }

impl<S: Active> Run<S> {
    /// The user stops the turn. It is over at once: what runs is told to stop, and whatever still comes is dropped.
    /// The history stays legal: every call has a result, which says that it was cancelled.
    pub fn cancel(mut self, now: Timestamp) -> Run<Completed> {
        self.turn.tick(now);
        self.leave_unreviewed();
        self.turn.close(&Outcome::Cancelled);
        self.goto(on::Cancel, Completed::new(Outcome::Cancelled))
    }
}

impl<S: Active> Run<S> {
    /// The turn is over before hooks could look at what the model has said: it is not sent it again.
    fn leave_unreviewed(&mut self) {
        match S::KIND {
            StateKind::Streaming => {
                self.turn.mark_as_refused();
                self.turn.leave_stream();
            }
            StateKind::Reviewing => self.turn.refuse_answer(),
            // What came of a stream that was to be opened again.
            _ if self.turn.broken_stream().is_some() => drop(self.turn.mark_as_refused()),
            _ => {}
        }
    }
}

impl<S: Active + Edge<on::Fail, Completed>> Run<S> {
    pub(super) fn fail(mut self, failure: Failure) -> Run<Completed> {
        self.leave_unreviewed();
        let outcome = Outcome::Failed { failure };
        self.turn.close(&outcome);
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
        ticket: ticket::Persist,
        message: String,
        now: Timestamp,
    ) -> Result<Self, Run<Completed>> {
        self.turn.tick(now);
        let Some(write) = self.turn.redeem(ticket) else {
            return Ok(self);
        };
        if self.turn.write_again(write) {
            return Ok(self);
        }
        self.turn.give_write_up();
        Err(self.fail(Failure::NotStored { message }))
    }

    /// A hook has taken too long ([`TimerKey::Hook`]).
    pub(in crate::run) fn hook_timed_out(
        mut self,
        place: HookPlace,
        now: Timestamp,
    ) -> Run<Completed> {
        self.turn.tick(now);
        let failure = self.turn.hook_timed_out(place);
        self.fail(failure)
    }

    /// The turn has taken too long ([`TimerKey::Turn`]).
    pub(in crate::run) fn turn_timed_out(mut self, now: Timestamp) -> Run<Completed> {
        self.turn.tick(now);
        self.fail(Failure::TimedOut {
            deadline: Deadline::Turn,
        })
    }

    /// The user types during the turn: the message waits until the next hop begins, and the model answers it in this
    /// same turn. If it cannot be taken, [`RunEvent::SteeringRefused`] gives it back.
    pub fn steer(&mut self, message: Message, now: Timestamp) {
        self.turn.tick(now);
        self.turn.steer(message);
    }
}

impl<S: State> Run<S> {
    /// The host stored the blocks of that write. What waited for it goes out.
    pub fn persisted(&mut self, ticket: ticket::Persist, now: Timestamp) {
        self.turn.tick(now);
        if let Some(write) = self.turn.redeem(ticket) {
            self.turn.stored(write);
        }
    }
}
