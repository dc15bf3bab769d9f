//! Rounds of tools: which calls run, when the turn continues, and what happens to the calls that are left.
//!
//! Owns the limits in `budget`, and which call begins when. A round ends when each of its calls has a result; the results are
//! recorded in the order of the calls.

use super::Turn;
use crate::event::{Interrupt, RunOutcome};
use crate::run::parts::{Repeated, call_digest};
use crate::run::protocol::EffectStage;
use crate::run::protocol::{EffectId, Failure, LimitPolicy, Outcome, TurnLimit};
use crate::tool::schema::CheckSteps;
use crate::tool::{ToolFailure, ToolFailureKind};
use crate::transcript::ToolCallStatus;
use crate::{CallKey, MessageId};

/// The next step after the end of a stream or a call.
pub(in crate::run) enum Next {
    /// Calls are under way.
    Execute,
    /// The results are in the history: the next hop begins.
    Ask,
    /// The turn is over.
    Over(Outcome),
}

impl Turn {
    /// Returns whether the stream asked for calls that have no result.
    pub(in crate::run) fn has_open_calls(&self) -> bool {
        self.transcript
            .calls()
            .iter()
            .any(|call| !call.status.is_final())
    }

    /// An AG-UI agent may name the calls that are left to the client: the others are its own.
    pub(in crate::run) fn leave_foreign_calls(&mut self) {
        let ids = match &self.transcript.summary().outcome {
            Some(RunOutcome::Success {
                pending_tool_call_ids: Some(ids),
            }) if !ids.is_empty() => ids.clone(),
            _ => return self.adopt_brought_calls(),
        };
        for call in self.transcript.calls_mut() {
            if !ids.contains(&call.id) && !call.status.is_final() {
                call.status = ToolCallStatus::Completed;
            }
        }
        for id in &ids {
            if !self.transcript.adopt_call(id) {
                let message = format!(
                    "the agent leaves the call `{id}` to the client, but the conversation has no such call"
                );
                self.presenter.warning(&message);
            }
        }
    }

    /// Adopts calls that an agent from before 1.0 leaves to the app without naming them: those of the app's tools that
    /// only the agent's snapshot brought.
    fn adopt_brought_calls(&mut self) {
        for id in self.transcript.take_brought_calls() {
            let call = self.transcript.call_of_history(&id);
            if call.is_some_and(|(_, call)| self.has_tool(&call.function.name)) {
                self.transcript.adopt_call(&id);
            }
        }
    }

    /// Leaves to the agent the calls that its own questions are about: the answers decide on them. The same applies to
    /// calls of tools that the app does not have, since an agent that asks has not finished its own calls.
    pub(in crate::run) fn leave_asked_calls(&mut self, interrupts: &[Interrupt]) {
        let tools = self.setup.config().tools.clone();
        let final_tool = self.final_tool().map(str::to_owned);
        let final_tool = final_tool.as_ref();
        for call in self.transcript.calls_mut() {
            let is_asked =
                |interrupt: &Interrupt| interrupt.tool_call_id.as_ref() == Some(&call.id);
            let is_foreign = tools.get(&call.name).is_none() && final_tool != Some(&call.name);
            if !call.status.is_final() && (is_foreign || interrupts.iter().any(is_asked)) {
                call.status = ToolCallStatus::Completed;
            }
        }
    }

    /// Starts the round of calls that the stream asked for, within the limit.
    pub(in crate::run) fn begin_round(&mut self) -> Next {
        let calls = self.open_calls();
        let running = self.clocks.running();
        let limits = &self.setup.config().limits;
        if let Some(limit) = self.budget.next_limit(limits, calls.len(), running) {
            return self.at_limit(limit);
        }
        let mut repeated = Vec::new();
        for &key in &calls {
            match self.count_call(key) {
                Repeated::Run => {}
                Repeated::Tell(times) => repeated.push((key, times)),
                Repeated::Stop(times) => {
                    let tool = self.name_of(key).to_owned();
                    return self.at_limit(TurnLimit::NoProgress { tool, times });
                }
            }
        }
        for (key, times) in repeated {
            let name = self.name_of(key);
            let message = format!(
                "the call was not run: `{name}` was asked for {times} times with the same arguments, and that brought \
                 nothing new. Use the results above, change the arguments, or answer without it"
            );
            let failure = ToolFailure::new(ToolFailureKind::Repeated, message);
            self.finish_call(key, Err(failure));
        }
        let mut left = CheckSteps::default();
        let mut unreadable = Vec::new();
        for key in self.open_calls() {
            unreadable.extend(self.begin_call(key, &mut left));
        }
        self.set_turn_clock();
        let is_unreadable = unreadable.len() == calls.len();
        match (self.go_on(), unreadable.into_iter().next()) {
            (Next::Ask, Some(reason)) if is_unreadable => {
                self.ask_again_after_unreadable_calls(reason)
            }
            (next, _) => next,
        }
    }

    /// Applies the policy for a round that a limit forbids.
    fn at_limit(&mut self, limit: TurnLimit) -> Next {
        let is_circle = matches!(limit, TurnLimit::NoProgress { .. });
        match self.setup.config().limits.at_limit {
            LimitPolicy::SumUp
                if !self.sums_up()
                    && !is_circle
                    && self.setup.config().limits.continue_after_tools =>
            {
                let reason = limit_message(&limit);
                self.abandon_calls(ToolFailureKind::LimitReached, &reason);
                self.budget.sum_up(limit);
                self.go_on()
            }
            LimitPolicy::Fail => Next::Over(Outcome::Failed {
                failure: Failure::LimitReached { limit },
            }),
            LimitPolicy::Complete | LimitPolicy::SumUp => {
                Next::Over(Outcome::LimitReached { limit })
            }
        }
    }

    /// Stops the turn's clock while the user is asked, or while only deferred results are missing; starts it otherwise.
    pub(in crate::run) fn set_turn_clock(&mut self) {
        let has = |status| {
            let mut calls = self.transcript.calls().iter();
            calls.any(|call| call.status == status)
        };
        let waits = has(ToolCallStatus::AwaitingApproval)
            || self.questions.are_open()
            || (has(ToolCallStatus::Deferred) && !has(ToolCallStatus::Executing));
        if waits {
            self.pause_turn_clock();
        } else {
            self.clocks.resume_turn();
        }
    }

    /// Begins the next hop if every call of the round is done; ends the turn if no hop should follow.
    pub(in crate::run) fn go_on(&mut self) -> Next {
        if self.has_open_calls() {
            return Next::Execute;
        }
        self.budget.end_round();
        self.settle_round();
        if self.output().is_some() && !self.is_steered() {
            return Next::Over(Outcome::Success);
        }
        if !self.setup.config().limits.continue_after_tools && !self.typed.is_asked_again() {
            return Next::Over(Outcome::Success);
        }
        Next::Ask
    }

    /// The results of the round go into the history, in the order of the calls.
    pub(in crate::run) fn settle_round(&mut self) {
        if self.transcript.calls().is_empty() {
            return;
        }
        // Results may go in between messages: what still waits for the host must not lose its place.
        self.presenter.moving(&self.transcript);
        let run_id = self.ids.run_id.clone();
        self.transcript
            .settle(|index| MessageId::of_result(&run_id, index));
        self.presenter.forget_arguments();
    }

    pub(super) fn open_calls(&self) -> Vec<CallKey> {
        self.transcript
            .calls()
            .iter()
            .filter(|call| !call.status.is_final())
            .map(|call| call.key)
            .collect()
    }

    /// Counts a call that is about to begin.
    fn count_call(&mut self, key: CallKey) -> Repeated {
        let Some(call) = self.transcript.call(key) else {
            return Repeated::Run;
        };
        let digest = call_digest(&call.name, self.written_arguments(call));
        let tool = self.setup.config().tools.get(&call.name);
        let is_repeatable = tool.is_some_and(|tool| tool.repeatable);
        let limit = self
            .setup
            .config()
            .limits
            .repeats
            .filter(|_| !is_repeatable);
        self.budget.count_call(digest, limit)
    }

    pub(super) fn has_room_for_a_tool(&self) -> bool {
        let room = self.setup.config().limits.max_parallel_tools.max(1);
        self.effects.running_tools() < usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Begins the calls that waited, in their order, as far as there is room now.
    pub(in crate::run) fn begin_waiting_calls(&mut self) {
        while self.has_room_for_a_tool() {
            let Some(key) = self.effects.waiting_tool() else {
                return;
            };
            self.run_call(key);
        }
    }

    /// Ends the calls that the host is running when the turn fails. The model of a later turn must not read that they
    /// did not run: it would ask for the same again.
    pub(in crate::run) fn abandon_running_calls(&mut self) {
        let message = "the turn ended while the tool ran, and the tool was stopped: whether it did its work is not known";
        for key in self.open_calls() {
            let effect = EffectId::Tool(key);
            if self.holds_result(key) {
                let message = "the tool ran, and the turn ended before its result was looked at";
                let failure = ToolFailure::new(ToolFailureKind::OutcomeUnknown, message);
                self.finish_call(key, Err(failure));
            } else if let Some(EffectStage::Given | EffectStage::Deferred) = self.stage(effect) {
                self.withdraw(effect);
                let failure = ToolFailure::new(ToolFailureKind::OutcomeUnknown, message);
                self.finish_call(key, Err(failure));
            }
        }
    }

    /// Ends every call that is still open with the same failure.
    pub(in crate::run) fn abandon_calls(&mut self, kind: ToolFailureKind, reason: &str) {
        for key in self.open_calls() {
            self.withdraw(EffectId::Approve(key));
            self.withdraw(EffectId::Tool(key));
            self.finish_call(key, Err(ToolFailure::new(kind, reason)));
        }
    }
}

/// Returns the reason why the calls of a round that a limit forbids were not run.
pub(super) fn limit_message(limit: &TurnLimit) -> String {
    format!("the call was not run: {limit}")
}
