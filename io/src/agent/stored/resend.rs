//! Rephrases the message of a stored turn.

use crate::agent::Agent;
use crate::durable::in_time;
use crate::store::{StoreError, TurnKey};
use crate::turn::Turn;
use stepwell_core::RunId;
use stepwell_core::event::{Message, MessageContent};
use stepwell_core::run::Start;
use uuid::Uuid;

impl Agent {
    /// Rephrases the message that began a stored turn of this thread: the new turn is a [branch](Self::branch) next to
    /// that turn, and continues the conversation before it.
    ///
    /// # Errors
    /// The agent has no store, or the store has no such turn or cannot be read.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn resend(
        &self,
        turn: &RunId,
        content: impl Into<MessageContent>,
    ) -> Result<Turn, StoreError> {
        let Some(stored) = self.stored() else {
            return Err(StoreError::Refused {
                message: "the agent has no store".to_owned(),
            });
        };
        let key = TurnKey::new(self.thread.key.clone(), turn.clone());
        let earlier = in_time(stored.store.turn(&key)).await?;
        let earlier = earlier.ok_or(StoreError::NoTurn { turn: key.turn })?;
        let run_id = Uuid::new_v4().to_string();
        let message = Message::user(format!("{run_id}-user"), content);
        Ok(self.branch(earlier.parent, Start::new(run_id, message)))
    }
}
