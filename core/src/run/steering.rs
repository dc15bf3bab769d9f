//! What the person types during the turn.

use super::active::Active;
use super::block::BlockContent;
use super::completed::Completed;
use super::core::Core;
use super::edges::{Edge, on};
use super::output::RunEvent;
use super::typed::Run;
use crate::Timestamp;
use crate::event::Message;
use serde::{Deserialize, Serialize};

/// With more messages waiting than this, further ones are refused.
const WAITING: usize = 16;

/// Why a message that the person sent during the turn was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum SteeringRefusal {
    /// The turn ended before the message could be taken in.
    #[error("the turn is over: start another one with the message")]
    TurnOver,
    /// The host goes away.
    #[error("the run was disposed of: send the message where the turn goes on")]
    Disposed,
    /// Too many messages wait already.
    #[error("{WAITING} messages wait already: send it when they are taken in")]
    QueueFull,
    /// The conversation, or a message that waits, has the same id.
    #[error("a message with the same id is there already: give each message an id of its own")]
    DuplicateId,
    /// Only the person's own messages can be sent so.
    #[error("it is no user message")]
    NotFromUser,
}

impl<S: Active + Edge<on::Fail, Completed>> Run<S> {
    /// The person types during the turn: the message waits until the next hop begins, and the model answers it in this
    /// same turn. If it cannot be taken, [`RunEvent::SteeringRefused`] gives it back.
    pub fn steer(&mut self, message: Message, now: Timestamp) {
        self.core.tick(now);
        self.core.steer(message);
    }
}

impl Core {
    fn steer(&mut self, message: Message) {
        let is_known = |id| {
            self.conversation.message(id).is_some()
                || self.steering.iter().any(|waiting| waiting.id() == id)
        };
        if !matches!(message, Message::User(_)) {
            self.refuse_steering(message, SteeringRefusal::NotFromUser);
        } else if is_known(message.id()) {
            self.refuse_steering(message, SteeringRefusal::DuplicateId);
        } else if self.steering.len() >= WAITING {
            self.refuse_steering(message, SteeringRefusal::QueueFull);
        } else {
            self.steering.push(message);
        }
    }

    pub(super) fn refuse_steering(&mut self, message: Message, reason: SteeringRefusal) {
        self.event(RunEvent::SteeringRefused {
            message: Box::new(message),
            reason,
        });
    }

    /// The turn is over: what still waits goes back.
    pub(super) fn give_steering_back(&mut self) {
        for message in std::mem::take(&mut self.steering) {
            let reason = match self.conversation.message(message.id()) {
                Some(_) => SteeringRefusal::DuplicateId,
                None => SteeringRefusal::TurnOver,
            };
            self.refuse_steering(message, reason);
        }
    }

    /// A hop begins: what the person has typed meanwhile goes into its request.
    pub(super) fn take_steering_in(&mut self) {
        for message in std::mem::take(&mut self.steering) {
            let message_id = message.id().clone();
            // An agent may have brought a message of the same id meanwhile.
            if self.conversation.message(&message_id).is_some() {
                self.refuse_steering(message, SteeringRefusal::DuplicateId);
                continue;
            }
            let block = BlockContent::Steering {
                message: Box::new(message.clone()),
            };
            self.recorder.record(self.hop, block);
            // Its id was just looked for.
            let _ = self.conversation.push(message);
            let hop = self.hop;
            self.event(RunEvent::SteeringTaken { message_id, hop });
        }
    }

    /// The answer is whole, but the person has typed meanwhile: the turn goes on with a hop that answers them.
    /// `false` if they have not.
    pub(super) fn go_on_steered(&mut self) -> bool {
        let is_new = |message: &Message| self.conversation.message(message.id()).is_none();
        if !self.steering.iter().any(is_new) {
            return false;
        }
        self.leave_stream();
        self.settle_round();
        self.begin_hop(self.hop + 1);
        true
    }
}
