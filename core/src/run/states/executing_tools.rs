use super::Run;
use super::any_run::next;
use super::data::{Completed, ExecutingTools};
use super::edges::on;
use crate::conversation::ToolCallStatus;
#[cfg(doc)]
use crate::run::protocol::TimerKey;
use crate::run::protocol::{
    Decision, EffectId, Misuse, PartialTooLarge, Question, QuestionError, UserAnswer, ticket,
};
use crate::run::turn::rounds::Next;
use crate::tool::{Rejection, ToolFailure, ToolFailureKind, ToolOutput, ToolResult};
use crate::{CallKey, Timestamp};

next! {
    /// What the end of a call leads to.
    Settled {
        /// Others are still under way.
        ExecutingTools,
        /// All are done: the next hop is on its way.
        Opening,
        /// All are done, and the turn ends here: it is not to go on after tools, or the conversation does not fit the
        /// model's context any more.
        Completed,
    }
}

impl Run<ExecutingTools> {
    /// A tool came to an end.
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

    /// A running tool says how far it has come: from 0 to 1, and what it does now.
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
    /// It is too large; nothing is shown.
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

    /// A running tool asks the user its question of this number, counted from 0. The turn's clock and the tool's stand
    /// still until they have answered.
    ///
    /// # Errors
    /// The schema is none, or the call asks too much; the run is as it was.
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

    /// The user answered a tool's question, or would not.
    ///
    /// # Errors
    /// The answer does not fit the question, which is still asked: the ticket comes back, and the run is as it was.
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

    /// The user has taken too long to answer a tool ([`TimerKey::Question`]), which is told so.
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

    /// The user decided whether a tool may run.
    ///
    /// # Errors
    /// The arguments that they put in the place of the model's do not fit the tool; the run comes back as it was, with the
    /// ticket.
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

    /// The user stops one call; the others go on. A call that is done stays so.
    pub fn cancel_call(mut self, call: CallKey, now: Timestamp) -> Settled {
        self.turn.tick(now);
        self.turn.stop_call(call);
        self.settled()
    }

    /// A tool has taken too long ([`TimerKey::Tool`]).
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

    /// The user has taken too long to allow a call ([`TimerKey::Approval`]): it is not run.
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
