//! Reads what the store has of a thread.

use crate::agent::Agent;
use crate::agent::threads::Known;
use crate::base::lock;
use crate::durable::{history, in_time};
use crate::store::{StoreError, TurnKey};
use stepwell_core::conversation::Conversation;

impl Agent {
    /// The thread's conversation as the [store](crate::AgentBuilder::store) has it: to show one that this process has not
    /// sent on yet. From then on [`conversation`](Self::conversation) gives it too. Of an agent without a store, and of a
    /// thread that the store does not have, it is what [`conversation`](Self::conversation) gives.
    ///
    /// A turn that is under way is in it as far as it is stored.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn load(&self) -> Result<Conversation, StoreError> {
        let Some(stored) = self.stored() else {
            return Ok(self.conversation());
        };
        let key = &self.thread.key;
        let record = in_time(stored.store.thread(key)).await?;
        let is_over = record
            .as_ref()
            .is_some_and(|record| record.unfinished.is_none());
        let Some(latest) = record.and_then(|record| record.latest) else {
            return Ok(self.conversation());
        };
        let known = lock(&self.thread.conversation).clone();
        if is_over && known.last.as_ref() == Some(&latest) {
            return Ok(known.conversation);
        }
        let turn = TurnKey::new(key.clone(), latest.clone());
        let conversation = history(&in_time(stored.store.path(&turn)).await?)?;
        if is_over {
            let mut here = lock(&self.thread.conversation);
            // What a turn has put there meanwhile is newer.
            if here.last == known.last {
                *here = Known {
                    conversation: conversation.clone(),
                    last: Some(latest),
                };
            }
        }
        Ok(conversation)
    }
}
