use super::Run;
use super::any_run::next;
use super::data::{Completed, ExecutingTools};
use super::edges::on;
#[cfg(doc)]
use crate::run::protocol::TimerKey;
use crate::run::protocol::{
    Decision, EffectId, Misuse, PartialTooLarge, Question, QuestionError, UserAnswer, ticket,
};
use crate::run::turn::rounds::Next;
use crate::tool::{Rejection, ToolFailure, ToolFailureKind, ToolOutput, ToolResult};
use crate::transcript::ToolCallStatus;
use crate::{CallKey, Timestamp};

next! {
    /// The result of a call's end.
    Settled {
        /// Others are still under way.
        ExecutingTools,
        /// All are done: the next hop is on its way.
        Opening,
        /// All tools are done, and the turn ends here: it should not continue after tools, or the conversation no
        /// longer fits the model's context.
        Completed,
    }
}

impl Run<ExecutingTools> {
    /// Handles the end of a tool.
    pub fn tool_finished(
        mut self,
        ticket: ticket::Tool,
        result: ToolResult,
        now: Timestamp,
    ) -> Settled {
        let call = ticket.call;
        self.turn.tick(now);
        if self.turn.redeem_result(ticket).is_some() && self.is_under_way(call) {
            self.turn.take_result(call, result);
        }
        self.settled()
    }

    /// The tool's result comes later, in minutes or days: the run may rest until
    /// [`tool_finished`](Self::tool_finished).
    pub fn tool_deferred(&mut self, ticket: &ticket::Tool, now: Timestamp) {
        let call = ticket.call;
        self.turn.tick(now);
        if self.turn.redeem(ticket.id()).is_some()
            && self.turn.is_call(call, ToolCallStatus::Executing)
            && !self.turn.holds_result(call)
        {
            self.turn.defer_call(call);
            self.turn.begin_waiting_calls();
            self.turn.set_turn_clock();
        }
    }

    /// Handles a running tool's progress: from 0 to 1, and its present activity.
    pub fn tool_progress(
        &mut self,
        ticket: &ticket::Tool,
        fraction: Option<f64>,
        message: Option<String>,
        now: Timestamp,
    ) {
        let call = ticket.call;
        self.turn.tick(now);
        if self.turn.redeem(ticket.id()).is_some()
            && self.turn.is_call(call, ToolCallStatus::Executing)
        {
            self.turn.tool_progress(call, fraction, message);
        }
    }

    /// A running tool shows what it has so far.
    ///
    /// # Errors
    /// The partial result is too large; nothing is shown.
    pub fn tool_partial_result(
        &mut self,
        ticket: &ticket::Tool,
        output: ToolOutput,
        now: Timestamp,
    ) -> Result<(), PartialTooLarge> {
        let call = ticket.call;
        PartialTooLarge::check(&output)?;
        self.turn.tick(now);
        if self.turn.redeem(ticket.id()).is_some()
            && self.turn.is_call(call, ToolCallStatus::Executing)
        {
            self.turn.tool_partial_result(call, output);
        }
        Ok(())
    }

    /// Handles a running tool's question to the user with this number, counted from 0. The turn's clock and the tool's
    /// are stopped until the user has answered.
    ///
    /// # Errors
    /// The schema is invalid, or the call asks too many questions; the run is unchanged.
    pub fn tool_asks(
        &mut self,
        ticket: &ticket::Tool,
        number: u32,
        question: Question,
        now: Timestamp,
    ) -> Result<(), QuestionError> {
        let call = ticket.call;
        self.turn.may_ask(call, number, &question)?;
        self.turn.tick(now);
        if self.turn.redeem(ticket.id()).is_some() {
            self.turn.ask_user(call, number, question);
            self.turn.set_turn_clock();
        }
        Ok(())
    }

    /// Handles the user's answer to a tool's question, or the refusal to answer.
    ///
    /// # Errors
    /// The answer does not fit the question, which is still asked; the error returns the ticket, and the run is
    /// unchanged.
    pub fn user_answered(
        &mut self,
        ticket: ticket::Ask,
        answer: UserAnswer,
        now: Timestamp,
    ) -> Result<(), (ticket::Ask, Misuse)> {
        let ticket::Ask { call, number } = ticket;
        if let Err(misuse) = self.turn.check_answer(call, number, &answer) {
            return Err((ticket, misuse));
        }
        self.turn.tick(now);
        if self.turn.redeem(ticket).is_some() {
            self.turn.answer_tool(call, number, answer);
            self.turn.set_turn_clock();
        }
        Ok(())
    }

    /// Tells a tool that the user has taken too long to answer ([`TimerKey::Question`]).
    pub(in crate::run) fn question_timed_out(
        &mut self,
        call: CallKey,
        number: u32,
        now: Timestamp,
    ) {
        self.turn.tick(now);
        let effect = EffectId::Ask { call, number };
        if self.turn.awaits(effect) {
            self.turn.withdraw(effect);
            let answer = UserAnswer::declined("the user was asked, and did not answer in time");
            self.turn.answer_tool(call, number, answer);
            self.turn.set_turn_clock();
        }
    }

    /// Handles the user's decision on a tool's approval.
    ///
    /// # Errors
    /// The arguments that the user put instead of the model's do not fit the tool. The error returns the run unchanged,
    /// with the ticket.
    pub fn decided(
        mut self,
        ticket: ticket::Approve,
        decision: Decision,
        now: Timestamp,
    ) -> Result<Settled, (Self, ticket::Approve, Rejection)> {
        if let Err(rejection) = self.turn.check_edit(ticket.call, &decision) {
            return Err((self, ticket, rejection));
        }
        let call = ticket.call;
        self.turn.tick(now);
        if self.turn.redeem(ticket).is_some() {
            self.turn.decide_call(call, decision);
        }
        Ok(self.settled())
    }

    /// Stops one call, for the user; the others continue. A finished call stays as it is.
    pub fn cancel_call(mut self, call: CallKey, now: Timestamp) -> Settled {
        self.turn.tick(now);
        self.turn.stop_call(call);
        self.settled()
    }

    /// Stops a tool that has taken too long ([`TimerKey::Tool`]).
    pub(in crate::run) fn tool_timed_out(mut self, call: CallKey, now: Timestamp) -> Settled {
        self.turn.tick(now);
        if self.is_under_way(call) {
            self.turn.withdraw(EffectId::Tool(call));
            let message = "the tool took too long and was stopped";
            let failure = ToolFailure::new(ToolFailureKind::TimedOut, message);
            self.turn.finish_call(call, Err(failure));
        }
        self.settled()
    }

    /// Denies a call, since the user has taken too long to approve it ([`TimerKey::Approval`]).
    pub(in crate::run) fn approval_timed_out(mut self, call: CallKey, now: Timestamp) -> Settled {
        self.turn.tick(now);
        if self.turn.is_call(call, ToolCallStatus::AwaitingApproval) {
            self.turn.withdraw(EffectId::Approve(call));
            let message = "the call was not run: the user was asked, and did not answer in time";
            let failure = ToolFailure::new(ToolFailureKind::TimedOut, message);
            self.turn.finish_call(call, Err(failure));
        }
        self.settled()
    }

    fn is_under_way(&self, call: CallKey) -> bool {
        let is_out = self.turn.is_call(call, ToolCallStatus::Executing)
            || self.turn.is_call(call, ToolCallStatus::Deferred);
        is_out && !self.turn.holds_result(call)
    }

    pub(super) fn settled(mut self) -> Settled {
        self.turn.begin_waiting_calls();
        self.turn.set_turn_clock();
        match self.turn.go_on() {
            Next::Ask => self.ask_next(on::Continue),
            Next::Execute => self.into(),
            Next::Over(outcome) => {
                self.turn.close(&outcome);
                self.goto(on::Finish, Completed::new(outcome)).into()
            }
        }
    }
}
