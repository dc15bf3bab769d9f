//! Rephrases the message of a stored turn.

use crate::answer::output::Output;
use crate::conversation::Conversation;
use crate::durable::in_time;
use crate::error::Error;
use crate::run::Run;
use crate::store::{StoreError, TurnKey};
use stepwell_core::RunId;
use stepwell_core::event::MessageContent;

impl<T: Output> Conversation<T> {
    /// Rephrases the message that began a stored turn: the new turn is a [branch](Run::after) next to that turn, and
    /// continues the conversation before it.
    ///
    /// # Errors
    /// The conversation has no store, or the store has no such turn or cannot be read.
    pub async fn resend(
        &self,
        turn: &RunId,
        prompt: impl Into<MessageContent>,
    ) -> Result<Run<T>, Error> {
        let Some(stored) = self.runner.stored() else {
            return Err(StoreError::Refused {
                message: "the conversation has no store".to_owned(),
            }
            .into());
        };
        let key = TurnKey::new(self.key().clone(), turn.clone());
        let earlier = in_time(stored.store.turn(&key)).await?;
        let earlier = earlier.ok_or(StoreError::NoTurn { turn: key.turn })?;
        Ok(self.send(prompt).after(earlier.parent))
    }
}
