//! The states that follow a complete answer, once the hooks have accepted it.

use super::Run;
use super::data::{Completed, Decoding, ExecutingTools, Interrupted, Opening};
use super::edges::{Edge, on};
use super::fall_back::{Received, Replaceable};
use crate::event::{Interrupt, RunOutcome};
use crate::run::protocol::{Failure, Incomplete, Outcome, RunEvent, StateKind};
use crate::run::turn::rounds::Next;
use crate::run::turn::typed::Judgement;

/// The states in which an answer can be complete.
#[allow(unreachable_pub)]
pub trait Whole:
    Replaceable
    + Edge<on::Call, ExecutingTools>
    + Edge<on::Continue, Opening>
    + Edge<on::Interrupt, Interrupted>
    + Edge<on::Decode, Decoding>
    + Edge<on::Finish, Completed>
{
}

impl Whole for super::data::Streaming {}
impl Whole for super::data::Reviewing {}

impl<S: Whole> Run<S> {
    /// Moves the turn to the state that follows a complete answer.
    pub(super) fn answered<To>(mut self) -> To
    where
        To: From<Run<ExecutingTools>>
            + From<Run<Opening>>
            + From<Run<Interrupted>>
            + From<Run<Decoding>>
            + From<Run<Completed>>,
    {
        match self.turn.transcript().summary().outcome.clone() {
            Some(RunOutcome::Interrupt { interrupts }) => return self.interrupt(interrupts).into(),
            Some(RunOutcome::Cancelled) => return self.finish(Outcome::Cancelled).into(),
            _ => {}
        }
        if S::KIND == StateKind::Streaming {
            self.turn.leave_foreign_calls();
        }
        if let Some(outcome) = self.turn.cut_output() {
            return self.finish_or_fall_back(outcome);
        }
        if !self.turn.has_open_calls() {
            if let Some(failure) = self.turn.failure_of_stop() {
                return self.fail_whole(failure);
            }
            // The answer is complete, but the user has typed meanwhile: a hop answers them.
            if self.turn.is_steered() {
                return self.ask_again();
            }
            if !self.turn.is_paused() {
                let outcome = self.turn.answered_outcome();
                let is_empty = Outcome::Incomplete {
                    reason: Incomplete::Empty,
                };
                if outcome == is_empty && self.turn.ask_again_after_empty_answer() {
                    return self.ask_again();
                }
                if outcome != Outcome::Success || !self.turn.expects_output() {
                    return self.finish_or_fall_back(outcome);
                }
            }
        }
        self.leave_stream();
        let next = match self.turn.judge_answer() {
            Some(Judgement::Decode) => return self.goto(on::Decode, Decoding {}).into(),
            Some(Judgement::Next(next)) => next,
            None => {
                self.turn.model_has_answered();
                self.turn.begin_round()
            }
        };
        match next {
            Next::Execute => self.goto(on::Call, ExecutingTools {}).into(),
            Next::Ask => self.ask_next(on::Continue),
            Next::Over(outcome) => {
                self.turn.close(&outcome);
                self.goto(on::Finish, Completed::new(outcome)).into()
            }
        }
    }

    fn interrupt(mut self, interrupts: Vec<Interrupt>) -> Run<Interrupted> {
        self.leave_stream();
        self.turn.pause_turn_clock();
        self.turn.event(RunEvent::Interrupted {
            interrupts: interrupts.clone(),
        });
        self.goto(on::Interrupt, Interrupted::new(interrupts))
    }

    /// Begins the next hop after an answer without open calls.
    fn ask_again<To: From<Run<Opening>> + From<Run<Completed>>>(mut self) -> To {
        self.leave_stream();
        self.turn.settle_round();
        self.ask_next(on::Continue)
    }

    pub(super) fn finish(mut self, outcome: Outcome) -> Run<Completed> {
        self.leave_stream();
        self.turn.close(&outcome);
        self.goto(on::Finish, Completed::new(outcome))
    }

    /// Ends the turn with an answer that is complete, unless another model is to give a better one.
    fn finish_or_fall_back<To>(self, outcome: Outcome) -> To
    where
        To: From<Run<Opening>> + From<Run<Completed>>,
    {
        let received = self.whole();
        match self.fall_back(&outcome, received) {
            Ok(next) => next,
            Err(run) => run.finish(outcome).into(),
        }
    }

    /// Ends the turn with an answer whose reason to end is an error, unless another model can be asked.
    fn fail_whole<To>(self, failure: Failure) -> To
    where
        To: From<Run<Opening>> + From<Run<Completed>>,
    {
        let outcome = Outcome::Failed { failure };
        let received = self.whole();
        match self.fall_back(&outcome, received) {
            Ok(next) => next,
            Err(mut run) => {
                run.leave_stream();
                run.turn.close(&outcome);
                run.goto(on::Fail, Completed::new(outcome)).into()
            }
        }
    }

    /// Returns what another model must know of an answer that is complete.
    fn whole(&self) -> Received {
        Received::Something {
            is_seen: !self.turn.is_answer_empty(),
        }
    }

    /// The stream is over. Hooks that look at its answer do so once it has been left.
    fn leave_stream(&mut self) {
        if S::KIND == StateKind::Streaming {
            self.turn.leave_stream();
        }
    }
}
