//! Reads a conversation from the store.

use crate::base::lock;
use crate::conversation::Conversation;
use crate::durable::{history, in_time};
use crate::error::Error;
use crate::store::TurnKey;
use crate::threads::KnownTranscript;
use stepwell_core::session::Turn;
use stepwell_core::transcript::Transcript;

impl<T> Conversation<T> {
    /// Reads the transcript from the [store](crate::AgentBuilder::store): to show a conversation in which this process
    /// has had no turn yet. From then on [`transcript`](Self::transcript) returns it too. Without a store, or if the
    /// store does not have the conversation, it is the result of [`transcript`](Self::transcript).
    ///
    /// The transcript has a turn that is under way as far as it is stored.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn load(&self) -> Result<Transcript, Error> {
        let Some(stored) = self.runner.stored() else {
            return Ok(self.transcript());
        };
        let thread = &self.runner.thread;
        let record = in_time(stored.store.thread(&thread.key)).await?;
        let is_over = record
            .as_ref()
            .is_some_and(|record| record.unfinished.is_none());
        let Some(latest) = record.and_then(|record| record.latest) else {
            return Ok(self.transcript());
        };
        let known = lock(&thread.known).clone();
        if is_over && known.last.as_ref() == Some(&latest) {
            return Ok(known.transcript);
        }
        let turn = TurnKey::new(thread.key.clone(), latest.clone());
        let transcript = history(&in_time(stored.store.path(&turn)).await?)?;
        if is_over {
            let mut here = lock(&thread.known);
            // A transcript that a turn has put there meanwhile is newer.
            if here.last == known.last {
                *here = KnownTranscript {
                    transcript: transcript.clone(),
                    last: Some(latest),
                };
            }
        }
        Ok(transcript)
    }

    /// Reads the turns of the conversation from the store, the oldest first: for a
    /// [chat screen](stepwell_core::session::ChatReducer::from_turns), which shows calls that have not ended, what waits for
    /// the user, and why the last turn failed. Empty without a store, or if the store does not have the conversation.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn stored_turns(&self) -> Result<Vec<Turn>, Error> {
        let Some(stored) = self.runner.stored() else {
            return Ok(Vec::new());
        };
        let key = self.key();
        let record = in_time(stored.store.thread(key)).await?;
        let Some(latest) = record.and_then(|record| record.latest) else {
            return Ok(Vec::new());
        };
        let turn = TurnKey::new(key.clone(), latest);
        Ok(in_time(stored.store.path(&turn)).await?)
    }
}
