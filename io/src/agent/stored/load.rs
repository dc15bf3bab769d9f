//! Reads a thread from the store.

use crate::agent::Agent;
use crate::agent::threads::KnownTranscript;
use crate::base::lock;
use crate::durable::{history, in_time};
use crate::store::{StoreError, TurnKey};
use stepwell_core::transcript::Transcript;

impl Agent {
    /// Reads the thread's conversation from the [store](crate::AgentBuilder::store): to show a conversation in which
    /// this process has had no turn yet. From then on [`conversation`](Self::transcript) returns it too. Without a
    /// store, or if the store does not have the thread, it is the result of [`conversation`](Self::transcript).
    ///
    /// The conversation has a turn that is under way as far as it is stored.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn load(&self) -> Result<Transcript, StoreError> {
        let Some(stored) = self.stored() else {
            return Ok(self.transcript());
        };
        let key = &self.thread.key;
        let record = in_time(stored.store.thread(key)).await?;
        let is_over = record
            .as_ref()
            .is_some_and(|record| record.unfinished.is_none());
        let Some(latest) = record.and_then(|record| record.latest) else {
            return Ok(self.transcript());
        };
        let known = lock(&self.thread.transcript).clone();
        if is_over && known.last.as_ref() == Some(&latest) {
            return Ok(known.transcript);
        }
        let turn = TurnKey::new(key.clone(), latest.clone());
        let transcript = history(&in_time(stored.store.path(&turn)).await?)?;
        if is_over {
            let mut here = lock(&self.thread.transcript);
            // A conversation that a turn has put there meanwhile is newer.
            if here.last == known.last {
                *here = KnownTranscript {
                    transcript: transcript.clone(),
                    last: Some(latest),
                };
            }
        }
        Ok(transcript)
    }
}
