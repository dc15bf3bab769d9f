use super::Run;
use super::data::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, State, Streaming,
    Summarizing, Waiting,
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

active! { Idle Opening Waiting Summarizing Streaming Reviewing Decoding ExecutingTools Interrupted }

impl<S: Active> Run<S> {
    /// Stops the turn at once, for the user: running effects are cancelled, and whatever they still report is dropped.
    /// The history stays valid: every call has a result, which says that it was cancelled.
    pub fn cancel(mut self, now: Timestamp) -> Run<Completed> {
        self.turn.tick(now);
        self.leave_unreviewed();
        self.turn.close(&Outcome::Cancelled);
        self.goto(on::Cancel, Completed::new(Outcome::Cancelled))
    }
}

impl<S: Active> Run<S> {
    /// Marks an answer that ended the turn before hooks could inspect it: it is not sent to the model again.
    fn leave_unreviewed(&mut self) {
        match S::KIND {
            StateKind::Streaming => {
                self.turn.mark_as_refused();
                self.turn.leave_stream();
            }
            StateKind::Reviewing => self.turn.refuse_answer(),
            // The content of a stream that should have been opened again.
            _ if self.turn.broken_stream().is_some() => drop(self.turn.mark_as_refused()),
            _ => {}
        }
    }
}

impl<S: Active + Edge<on::Fail, Completed>> Run<S> {
    pub(super) fn fail(self, failure: Failure) -> Run<Completed> {
        self.end_failed(Outcome::Failed { failure })
    }

    pub(super) fn end_failed(mut self, outcome: Outcome) -> Run<Completed> {
        self.leave_unreviewed();
        self.turn.close(&outcome);
        self.goto(on::Fail, Completed::new(outcome))
    }
}

impl<S: Active + Edge<on::Fail, Completed>> Run<S> {
    /// Handles a failed write: it is repeated as often as the configuration allows.
    ///
    /// # Errors The write failed too often: the turn is over.
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

    /// Adds a message that the user types during the turn. It waits until the next hop begins, and the model answers it
    /// in this same turn. [`RunEvent::SteeringRefused`] returns a message that cannot be accepted.
    pub fn steer(&mut self, message: Message, now: Timestamp) {
        self.turn.tick(now);
        self.turn.steer(message);
    }
}

impl<S: State> Run<S> {
    /// Handles a successful write: the effects that waited for it are emitted.
    pub fn persisted(&mut self, ticket: ticket::Persist, now: Timestamp) {
        self.turn.tick(now);
        if let Some(write) = self.turn.redeem(ticket) {
            self.turn.stored(write);
        }
    }
}
