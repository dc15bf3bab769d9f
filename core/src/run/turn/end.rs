//! The end of a turn.
//!
//! Owns `status`. Stops every clock, withdraws every effect but the write, gives every call a result, and returns to
//! the user the messages that were typed and not sent. [`RunEvent::Completed`] is the last event.

use super::Turn;
use super::rounds::limit_message;
use crate::event::Message;
use crate::run::protocol::{EffectId, Failure, Outcome, RunEvent, SteeringRefusal};
use crate::tool::ToolFailureKind;

impl Turn {
    /// Everything that a turn's end ends, whatever the end is.
    pub(in crate::run) fn close(&mut self, outcome: &Outcome) {
        if self.broken_stream.is_some() {
            self.leave_stream();
        }
        self.abandon_summary();
        let (kind, reason) = match outcome {
            Outcome::Cancelled => (
                ToolFailureKind::Cancelled,
                "the call was cancelled".to_owned(),
            ),
            Outcome::LimitReached { limit }
            | Outcome::Failed {
                failure: Failure::LimitReached { limit },
            } => (ToolFailureKind::LimitReached, limit_message(limit)),
            Outcome::Success
            | Outcome::Incomplete { .. }
            | Outcome::Truncated
            | Outcome::Failed { .. } => {
                self.abandon_running_calls();
                (
                    ToolFailureKind::Cancelled,
                    "the call was not run: the answer that asked for it broke off".to_owned(),
                )
            }
        };
        self.clocks.stop_all();
        let open: Vec<_> = self.effects.iter().map(|(id, _)| id).collect();
        for id in open
            .into_iter()
            .filter(|id| !matches!(id, EffectId::Persist { .. }))
        {
            self.withdraw(id);
        }
        self.abandon_calls(kind, &reason);
        self.settle_round();
        self.status = outcome.turn_status();
        self.record_usage();
        self.recorder.close();
        for message in self.steering.take() {
            let reason = match self.transcript.message(message.id()) {
                Some(_) => SteeringRefusal::DuplicateId,
                None => SteeringRefusal::TurnOver,
            };
            self.refuse_steering(Box::new(message), reason);
        }
        self.event(RunEvent::Completed(outcome.clone()));
    }

    /// Takes the messages that the user has typed on this host, which goes away. They are returned only here.
    pub(in crate::run) fn take_steering(&mut self) -> Vec<Message> {
        self.steering.take()
    }
}
