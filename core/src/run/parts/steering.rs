use crate::event::Message;
use crate::run::protocol::{MAX_WAITING_MESSAGES, SteeringRefusal};
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// The messages that the user has typed during the turn, until the next hop begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Steering(Vec<Message>);

impl Steering {
    /// Lets a message wait.
    ///
    /// # Errors
    /// The message cannot be accepted, and is returned.
    pub(crate) fn add(
        &mut self,
        message: Message,
        transcript: &Transcript,
    ) -> Result<(), (Box<Message>, SteeringRefusal)> {
        let id = message.id();
        let is_known =
            transcript.message(id).is_some() || self.0.iter().any(|waiting| waiting.id() == id);
        let reason = if !matches!(message, Message::User(_)) {
            SteeringRefusal::NotFromUser
        } else if is_known {
            SteeringRefusal::DuplicateId
        } else if self.0.len() >= MAX_WAITING_MESSAGES {
            SteeringRefusal::QueueFull
        } else {
            self.0.push(message);
            return Ok(());
        };
        Err((Box::new(message), reason))
    }

    /// Returns whether one waits that the conversation does not have.
    pub(crate) fn has_new(&self, transcript: &Transcript) -> bool {
        let mut waiting = self.0.iter();
        waiting.any(|message| transcript.message(message.id()).is_none())
    }

    /// Takes out all that waits.
    pub(crate) fn take(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_taken_is_given_back() {
        let transcript = Transcript::new(vec![Message::user("m1", "Hello")]);
        let mut steering = Steering::default();
        let mut reason = |message: Message| {
            let id = message.id().clone();
            let refused = steering.add(message, &transcript).err();
            refused.map(|(message, reason)| {
                assert_eq!(*message.id(), id);
                reason
            })
        };
        assert_eq!(reason(Message::user("m2", "Shorter")), None);
        assert_eq!(
            reason(Message::user("m2", "Again")),
            Some(SteeringRefusal::DuplicateId)
        );
        assert_eq!(
            reason(Message::user("m1", "Again")),
            Some(SteeringRefusal::DuplicateId)
        );
        let assistant = Message::Assistant(crate::event::AssistantMessage::default());
        assert_eq!(reason(assistant), Some(SteeringRefusal::NotFromUser));
        for at in 1..MAX_WAITING_MESSAGES {
            assert_eq!(reason(Message::user(format!("more-{at}"), "…")), None);
        }
        assert_eq!(
            reason(Message::user("last", "…")),
            Some(SteeringRefusal::QueueFull)
        );
        assert!(steering.has_new(&transcript));
        assert_eq!(steering.take().len(), MAX_WAITING_MESSAGES);
        assert!(!steering.has_new(&transcript));
    }
}
