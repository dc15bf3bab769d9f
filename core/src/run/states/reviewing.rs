use super::Run;
use super::any_run::next;
use super::data::{Completed, ExecutingTools, Opening, Reviewing};
use super::executing_tools::Settled;
use crate::run::hop;
use crate::run::protocol::{EffectId, HookAnswer, HookPlace, ticket};
use crate::run::turn::hooks::Hooked;
use crate::{CallKey, Timestamp};

next! {
    /// The result of a hook's review of the answer.
    Reviewed {
        /// Another hook is asked.
        Reviewing,
        /// The model asked for tools.
        ExecutingTools,
        /// The next hop is on its way.
        Opening,
        /// The agent asks the user.
        Interrupted,
        /// The host must decode the typed answer.
        Decoding,
        /// The turn is over.
        Completed,
    }
}

impl Run<Reviewing> {
    /// A hook has looked at the answer.
    pub fn reviewed(
        mut self,
        ticket: ticket::AnswerHook,
        answer: HookAnswer,
        now: Timestamp,
    ) -> Reviewed {
        self.turn.tick(now);
        let (place, hook) = (HookPlace::Answer { hop: ticket.hop }, ticket.hook);
        if self.turn.redeem(ticket).is_none() {
            return self.into();
        }
        match self.turn.hooked(place, hook, answer) {
            Hooked::Waits => self.into(),
            Hooked::Passed => self.answered(),
            Hooked::Over(failure) => self.fail(failure).into(),
        }
    }

    /// The user stops one call that the model has asked for: it will not be run.
    pub fn cancel_call(&mut self, call: CallKey, now: Timestamp) {
        self.turn.tick(now);
        self.turn.stop_before_it_begins(call);
    }
}

impl Run<Opening> {
    /// Continues after a hook's review of the next request.
    ///
    /// # Errors
    /// The hook has refused, or failed: the turn is over.
    pub fn request_reviewed(
        mut self,
        ticket: ticket::RequestHook,
        answer: HookAnswer,
        now: Timestamp,
    ) -> Result<Self, Run<Completed>> {
        self.turn.tick(now);
        let (place, hook) = (HookPlace::Request { hop: ticket.hop }, ticket.hook);
        if self.turn.redeem(ticket).is_none() {
            return Ok(self);
        }
        match self.turn.hooked(place, hook, answer) {
            Hooked::Waits => {}
            Hooked::Passed => hop::send(&mut self.turn),
            Hooked::Over(failure) => return Err(self.fail(failure)),
        }
        Ok(self)
    }
}

impl Run<ExecutingTools> {
    /// Continues after a hook's review of a call.
    pub fn call_reviewed(
        self,
        ticket: ticket::CallHook,
        answer: HookAnswer,
        now: Timestamp,
    ) -> Settled {
        let (place, hook) = (HookPlace::Call(ticket.call), ticket.hook);
        self.hook_answered(ticket, place, hook, answer, now)
    }

    /// Continues after a hook's review of a call's result.
    pub fn result_reviewed(
        self,
        ticket: ticket::ResultHook,
        answer: HookAnswer,
        now: Timestamp,
    ) -> Settled {
        let (place, hook) = (HookPlace::Result(ticket.call), ticket.hook);
        self.hook_answered(ticket, place, hook, answer, now)
    }

    fn hook_answered(
        mut self,
        ticket: impl Into<EffectId>,
        place: HookPlace,
        hook: u32,
        answer: HookAnswer,
        now: Timestamp,
    ) -> Settled {
        self.turn.tick(now);
        if self.turn.redeem(ticket).is_none() {
            return self.into();
        }
        match self.turn.hooked(place, hook, answer) {
            Hooked::Waits => {}
            Hooked::Passed => self.turn.hooks_passed(place),
            Hooked::Over(failure) => return self.fail(failure).into(),
        }
        self.settled()
    }
}
