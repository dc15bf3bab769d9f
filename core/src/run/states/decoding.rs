use super::Run;
use super::any_run::next;
use super::data::{Completed, Decoding, ExecutingTools};
use super::edges::on;
#[cfg(doc)]
use crate::run::protocol::TimerKey;
use crate::run::protocol::{EffectId, ticket};
use crate::run::turn::rounds::Next;
use crate::{CallKey, Timestamp};

next! {
    /// The result of the host's decoding of the typed answer.
    Judged {
        /// The host has not decoded it yet.
        Decoding,
        /// The answer asked for tools, too.
        ExecutingTools,
        /// The model is asked again, or the user has typed meanwhile.
        Opening,
        /// The turn is over.
        Completed,
    }
}

impl Run<Decoding> {
    /// The host has decoded the answer.
    pub fn decoded(mut self, ticket: ticket::Decode, now: Timestamp) -> Judged {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return self.into();
        };
        self.turn.answered(effect);
        let next = self.turn.output_decoded();
        self.go_on(next)
    }

    /// The host cannot decode the answer, for the reason given.
    pub fn refused(mut self, ticket: ticket::Decode, reason: String, now: Timestamp) -> Judged {
        self.turn.tick(now);
        let Some(effect) = self.turn.redeem(ticket) else {
            return self.into();
        };
        self.turn.answered(effect);
        let next = self.turn.output_refused(reason);
        self.go_on(next)
    }

    /// The host has taken too long ([`TimerKey::Output`]).
    pub(in crate::run) fn decoding_timed_out(mut self, now: Timestamp) -> Run<Completed> {
        self.turn.tick(now);
        let hop = self.turn.hop();
        self.turn.withdraw(EffectId::Output { hop });
        let failure = self
            .turn
            .output_invalid("the app did not say in time whether it can decode it".to_owned());
        self.fail(failure)
    }

    /// Stops one call that the model has asked for in addition to its answer: the call will not run.
    pub fn cancel_call(&mut self, call: CallKey, now: Timestamp) {
        self.turn.tick(now);
        self.turn.stop_before_it_begins(call);
    }

    fn go_on(mut self, next: Next) -> Judged {
        match next {
            Next::Execute => self.goto(on::Call, ExecutingTools {}).into(),
            Next::Ask => self.ask_next(on::Continue),
            Next::Over(outcome) => {
                self.turn.close(&outcome);
                self.goto(on::Finish, Completed::new(outcome)).into()
            }
        }
    }
}
